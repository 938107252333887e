package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/lifepod/lifepod/internal/wholefile"
)

const (
	// versionFile has the minor version of Kubernetes that ran the cluster last, such as 1.37.
	versionFile = "kubernetes-version"
	// beforeTheFile is the version of clusters that have no such file.
	beforeTheFile = "1.36"
)

// checkVersion returns an error if this program's version of Kubernetes can't go on with a cluster: one that is newer, or older
// by more than one minor version, whose objects Kubernetes does not promise to read.
func (l *layout) checkVersion(own string) error {
	before, err := l.versionBefore(own)
	if err != nil {
		return err
	}
	was, err := version.ParseGeneric(before)
	if err != nil {
		return fmt.Errorf("%s: %w", l.file(versionFile), err)
	}
	is := version.MustParseGeneric(own)
	switch oldest := is.OffsetMinor(-1); {
	case is.LessThan(was):
		return fmt.Errorf("the cluster of %s is of Kubernetes %s, and this lifepod of %s: a cluster does not go back; go on with a lifepod of %s, or restore a backup of before into another --root",
			l.Root, before, own, before)
	case was.LessThan(oldest):
		return fmt.Errorf("the cluster of %s is of Kubernetes %s, and this lifepod of %s: a cluster goes up by one minor version at a time; run a lifepod of %s on it first",
			l.Root, before, own, was.OffsetMinor(1))
	}
	return nil
}

// versionBefore is the version that ran the cluster last, or the program's own if there is none yet.
func (l *layout) versionBefore(own string) (string, error) {
	text, err := os.ReadFile(l.file(versionFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSpace(string(text)), err
	}
	node, err := l.nodeBefore()
	if node == "" {
		return own, err
	}
	return beforeTheFile, err
}

func (l *layout) rememberVersion(own string) error {
	return wholefile.Write(l.file(versionFile), []byte(own+"\n"))
}
