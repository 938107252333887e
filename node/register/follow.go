package register

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
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

// follower has the API's object be the newest.
type follower struct {
	name   string
	client kubernetes.Interface
	object *object
	calls  *calls
	link   link
	log    *slog.Logger
}

// run follows the Node until ctx ends. It lists and watches by
// itself, not by an informer: it is one object, and an informer waits for up to
// half a minute before it asks again for an API server that was away.
func (f follower) run(ctx context.Context) {
	listing := backoff{log: f.log, what: "asking the API server for the node"}
	watching := backoff{log: f.log, what: "watching the node"}
	// A watch that breaks is the beginning of an outage, also if the list after it
	// doesn't fail: client-go tries a request several times by itself.
	outage := false
	for ctx.Err() == nil {
		version, err := f.list(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			sleep(ctx, listing.failed(err))
			continue
		}
		if listing.succeeded() || outage {
			f.calls.note(func(a *asked) { a.back = true })
			f.link.over.give()
		}
		f.link.back.Send()
		began := time.Now()
		err = f.watch(ctx, version)
		if err == nil || time.Since(began) > settled {
			watching.succeeded()
		}
		if outage = err != nil && ctx.Err() == nil; outage {
			sleep(ctx, watching.failed(err))
		}
	}
}

func (f follower) only() string {
	return fields.OneTermEqualSelector("metadata.name", f.name).String()
}

// list publishes the Node as it is now, and returns the version to watch from.
func (f follower) list(ctx context.Context) (string, error) {
	ctx, done := context.WithTimeout(ctx, listTimeout)
	defer done()
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: f.only()})
	if err != nil {
		return "", fmt.Errorf("list node %q: %w", f.name, err)
	}
	absent := true
	for i := range list.Items {
		if list.Items[i].Name == f.name {
			f.heard(&list.Items[i], true)
			absent = false
		}
	}
	if absent {
		f.gone()
	}
	return list.ResourceVersion, nil
}

// watch publishes changes from a version on until the watch ends, which is
// no error, or relist is called.
func (f follower) watch(ctx context.Context, version string) error {
	seconds := watchSeconds + rand.Int64N(watchSeconds)
	changes, err := f.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{
		FieldSelector: f.only(), ResourceVersion: version, TimeoutSeconds: &seconds, AllowWatchBookmarks: true,
	})
	if err != nil {
		return fmt.Errorf("watch node %q: %w", f.name, err)
	}
	defer changes.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.link.relist:
			return nil
		case change, open := <-changes.ResultChan():
			if lasted := time.Since(began); !open && lasted < time.Duration(seconds-1)*time.Second {
				return fmt.Errorf("watch node %q: it ended after %v instead of %d s", f.name, lasted.Round(time.Second), seconds)
			}
			if !open {
				return nil
			}
			if err := f.take(change); err != nil {
				return err
			}
		}
	}
}

func (f follower) take(change watch.Event) error {
	if change.Type == watch.Error {
		return fmt.Errorf("watch node %q: %w", f.name, apierrors.FromObject(change.Object))
	}
	node, ok := change.Object.(*v1.Node)
	if !ok || node.Name != f.name {
		return nil
	}
	switch change.Type {
	case watch.Added, watch.Modified:
		f.heard(node, false)
	case watch.Deleted:
		f.gone()
	}
	return nil
}

// heard publishes what the API has and has the reporter compare it. A list is
// right also with an older version: the cluster may have got an older state back.
func (f follower) heard(node *v1.Node, listed bool) {
	if f.object.publish(node, listed) || f.calls.absent() {
		f.calls.note(func(a *asked) { a.absent = false })
	}
}

// gone: the Node was deleted. As with the kubelet it is not made again before
// the next start: whoever deleted it has taken this machine out of the cluster.
func (f follower) gone() {
	if !f.calls.absent() {
		f.log.Warn("the API has no such node: its status is not written until there is one", "node", f.name)
	}
	f.calls.note(func(a *asked) { a.absent = true })
}
