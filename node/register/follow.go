package register

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// listTimeout bounds the question whether the API server is there again; a new
	// attempt takes a new connection.
	listTimeout = 3 * time.Second
	// watchSeconds to twice as much is how long one watch lasts.
	watchSeconds = 300
	// settled is how long a watch lasts before one that breaks is a new failure.
	settled = 5 * time.Second
)

// follow keeps newest the API's object until ctx ends. It lists and watches by
// itself, not by an informer: it is one object, and an informer waits for up to
// half a minute before it asks again for an API server that was away.
func (n *Node) follow(ctx context.Context) {
	listing := backoff{log: n.config.Log, what: "asking the API server for the node"}
	watching := backoff{log: n.config.Log, what: "watching the node"}
	// A watch that breaks is the beginning of an outage, also if the list after it
	// doesn't fail: client-go tries a request several times by itself.
	outage := false
	for ctx.Err() == nil {
		version, err := n.list(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			sleep(ctx, listing.failed(err))
			continue
		}
		if listing.succeeded() || outage {
			n.call(func(c *calls) { c.back = true })
			poke(n.over)
		}
		poke(n.back)
		began := time.Now()
		err = n.watch(ctx, version)
		if err == nil || time.Since(began) > settled {
			watching.succeeded()
		}
		if outage = err != nil && ctx.Err() == nil; outage {
			sleep(ctx, watching.failed(err))
		}
	}
}

func (n *Node) only() string {
	return fields.OneTermEqualSelector("metadata.name", n.config.Name).String()
}

// list publishes the Node as it is now, and returns the version to watch from.
func (n *Node) list(ctx context.Context) (string, error) {
	ctx, done := context.WithTimeout(ctx, listTimeout)
	defer done()
	list, err := n.config.API.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: n.only()})
	if err != nil {
		return "", fmt.Errorf("list node %q: %w", n.config.Name, err)
	}
	absent := true
	for i := range list.Items {
		if list.Items[i].Name == n.config.Name {
			n.heard(&list.Items[i], true)
			absent = false
		}
	}
	if absent {
		n.gone()
	}
	return list.ResourceVersion, nil
}

// watch publishes changes from a version on until the watch ends, which is
// no error, or relist is called.
func (n *Node) watch(ctx context.Context, version string) error {
	seconds := watchSeconds + rand.Int64N(watchSeconds)
	changes, err := n.config.API.Client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{
		FieldSelector: n.only(), ResourceVersion: version, TimeoutSeconds: &seconds, AllowWatchBookmarks: true,
	})
	if err != nil {
		return fmt.Errorf("watch node %q: %w", n.config.Name, err)
	}
	defer changes.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.relist:
			return nil
		case change, open := <-changes.ResultChan():
			if lasted := time.Since(began); !open && lasted < time.Duration(seconds-1)*time.Second {
				return fmt.Errorf("watch node %q: it ended after %v instead of %d s", n.config.Name, lasted.Round(time.Second), seconds)
			}
			if !open {
				return nil
			}
			if err := n.take(change); err != nil {
				return err
			}
		}
	}
}

func (n *Node) take(change watch.Event) error {
	if change.Type == watch.Error {
		return fmt.Errorf("watch node %q: %w", n.config.Name, apierrors.FromObject(change.Object))
	}
	node, ok := change.Object.(*v1.Node)
	if !ok || node.Name != n.config.Name {
		return nil
	}
	switch change.Type {
	case watch.Added, watch.Modified:
		n.heard(node, false)
	case watch.Deleted:
		n.gone()
	}
	return nil
}

// heard publishes what the API has and has the reporter compare it. A list is
// right also with an older version: the cluster may have got an older state back.
func (n *Node) heard(node *v1.Node, listed bool) {
	if n.publish(node, listed) || n.absent() {
		n.call(func(c *calls) { c.absent = false })
	}
}

// gone: the Node was deleted. As with the kubelet it is not made again before
// the next start: whoever deleted it has taken this machine out of the cluster.
func (n *Node) gone() {
	if !n.absent() {
		n.config.Log.Warn("the API has no such node: its status is not written until there is one", "node", n.config.Name)
	}
	n.call(func(c *calls) { c.absent = true })
}

func (n *Node) absent() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked.absent
}
