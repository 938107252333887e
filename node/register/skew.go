package register

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// mostOlder is how many minor versions a node may be older than its API server, by
// Kubernetes' version skew policy. It may never be newer.
const mostOlder = 3

// Skew is an error if Kubernetes does not support a node of Version with an API server of
// that version, of which the error has the numbers alone.
func Skew(server string) error {
	is, err := version.ParseGeneric(server)
	if err != nil {
		return errors.New("the API server does not tell which version of Kubernetes it is of")
	}
	is = version.MajorMinor(is.Major(), is.Minor())
	node := version.MustParseGeneric(Version)
	switch node = version.MajorMinor(node.Major(), node.Minor()); {
	case is.LessThan(node):
		return fmt.Errorf("the API server is of Kubernetes %s, and this node of %s: Kubernetes supports no node that is newer than its API server", is, node)
	case node.OffsetMinor(mostOlder).LessThan(is):
		return fmt.Errorf("the API server is of Kubernetes %s, and this node of %s: Kubernetes supports nodes that are at most %d minor versions older", is, node, mostOlder)
	}
	return nil
}
