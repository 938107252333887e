package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/journal"
)

// Node reads the journal of a node of a cluster through the API server, with the rights of
// whoever asks: get on nodes/proxy.
type Node struct {
	Context context.Context // of all requests
	Client  rest.Interface  // of the core API, version v1
	Name    string
}

// Pods lists the pods that the node's journal has.
func (n Node) Pods() (pods []journal.Pod, err error) {
	err = n.get("", &pods)
	return pods, err
}

// Read returns what the journal has of a pod.
func (n Node) Read(uid string) (*journal.Record, error) {
	r := &journal.Record{}
	if err := n.get(uid, r); err != nil {
		return nil, err
	}
	return r, nil
}

func (n Node) get(uid string, into any) error {
	result := n.Client.Get().Resource("nodes").Name(n.Name).SubResource("proxy").Suffix(Path, uid).Do(n.Context)
	content, _ := result.Raw()
	switch err := result.Error(); {
	case apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err): // it is the node's, not the API server's
		return fmt.Errorf("node %s has no journal of it; is it run by lifepod agent? %w", n.Name, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("journal of node %s: %w", n.Name, err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("journal of node %s: %w", n.Name, err)
	}
	return nil
}
