package agent

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// await waits until the pod is as wanted; what completes "the pod never came …".
func (c *cluster) await(pod, what string, wanted func(*v1.Pod) bool) *v1.Pod {
	c.t.Helper()
	return await(c, "pods", pod, what, wanted)
}

// awaitReady waits until the pod's condition Ready is True.
func (c *cluster) awaitReady(pod string) *v1.Pod {
	c.t.Helper()
	return c.await(pod, "to be ready", machine.IsReady)
}

// object is an API object by pointer, of which a zero one can be made.
type object[T any] interface {
	*T
	runtime.Object
}

// await waits until an object of the core group in the namespace is as wanted.
func await[T any, P object[T]](c *cluster, resource, name, what string, wanted func(P) bool) P {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	var last P
	_, err := watchtools.UntilWithSync(ctx, c.one(resource, name), P(new(T)), nil, func(e watch.Event) (bool, error) {
		last = e.Object.(P)
		if e.Type == watch.Deleted {
			return false, errors.New("it was deleted")
		}
		return wanted(last), nil
	})
	if err != nil {
		if seen, err := meta.Accessor(last); err == nil && last != nil {
			seen.SetManagedFields(nil)
		}
		text, _ := yaml.Marshal(last) // what cannot be shown is not shown
		c.t.Fatalf("%s %s never came %s: %v; the last one seen:\n%s", resource, name, what, err, text)
	}
	return last
}

// untilGone waits until the API has the pod no longer.
func (c *cluster) untilGone(ctx context.Context, pod string) error {
	gone := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	_, err := watchtools.UntilWithSync(ctx, c.one("pods", pod), &v1.Pod{}, gone, func(e watch.Event) (bool, error) {
		return e.Type == watch.Deleted, nil
	})
	return err
}

// one lists and watches one object of the namespace.
func (c *cluster) one(resource, name string) *cache.ListWatch {
	return cache.NewListWatchFromClient(client.CoreV1().RESTClient(), resource, c.namespace,
		fields.OneTermEqualSelector(metav1.ObjectNameField, name))
}

// awaitEvents waits for an event about a pod that is as wanted.
func (c *cluster) awaitEvents(pod string, wanted func(*v1.Event) bool) *v1.Event {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	events := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "events", c.namespace,
		fields.OneTermEqualSelector("involvedObject.name", pod))
	seen := ""
	last, err := watchtools.UntilWithSync(ctx, events, &v1.Event{}, nil, func(e watch.Event) (bool, error) {
		event := e.Object.(*v1.Event)
		seen += event.Type + " " + event.Reason + ": " + event.Message + "\n"
		return wanted(event), nil
	})
	assert.Require(c.t, err == nil, "no such event about pod %s: %v; those seen:\n%s", pod, err, seen)
	return last.Object.(*v1.Event)
}
