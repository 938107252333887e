// Package seen is what a benchmark of many pods sees of a cluster: when Nodes and pods are Ready, and how many writes the
// API server has answered.
package seen

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Nodes are a tally of Nodes.
func Nodes() *Tally {
	return newTally("nodes", &v1.Node{}, func(o metav1.Object) bool { node, is := o.(*v1.Node); return is && nodeIsReady(node) })
}

// Pods are a tally of pods.
func Pods(ready func(*v1.Pod) bool) *Tally {
	return newTally("pods", &v1.Pod{}, func(o metav1.Object) bool { pod, is := o.(*v1.Pod); return is && ready(pod) })
}

// nodeIsReady says whether a Node is Ready, and the control plane has noticed.
func nodeIsReady(node *v1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue && len(node.Spec.Taints) == 0
		}
	}
	return false
}

// Tally counts objects as a watch shows them.
type Tally struct {
	resource string
	kind     runtime.Object
	isReady  func(metav1.Object) bool

	mu      sync.Mutex
	there   map[string]bool
	ready   map[string]time.Time // when each was seen to be ready for the first time
	changes int                  // of objects that were there
}

func newTally(resource string, kind runtime.Object, isReady func(metav1.Object) bool) *Tally {
	return &Tally{resource: resource, kind: kind, isReady: isReady, there: map[string]bool{}, ready: map[string]time.Time{}}
}

// Follow watches until ctx ends. If the watch breaks off, the objects are listed anew: none that was deleted meanwhile is missed.
func (t *Tally) Follow(ctx context.Context, client kubernetes.Interface, namespace string) {
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoreV1().RESTClient(), t.resource, namespace, fields.Everything()),
		ObjectType:    t.kind,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { t.note(time.Now(), watch.Added, object) },
			UpdateFunc: func(_, object any) { t.note(time.Now(), watch.Modified, object) },
			DeleteFunc: func(object any) { t.note(time.Now(), watch.Deleted, object) },
		},
	})
	informer.RunWithContext(ctx)
}

func (t *Tally) note(at time.Time, kind watch.EventType, told any) {
	if missed, is := told.(cache.DeletedFinalStateUnknown); is {
		told = missed.Obj
	}
	object, is := told.(metav1.Object)
	if !is {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name := object.GetName()
	if kind == watch.Deleted {
		delete(t.there, name)
		return
	}
	if t.there[name] {
		t.changes++
	}
	t.there[name] = true
	if _, was := t.ready[name]; !was && t.isReady(object) {
		t.ready[name] = at
	}
}

// Count is how often objects have changed.
func (t *Tally) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// ReadyAt is when an object became ready.
func (t *Tally) ReadyAt(name string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready[name]
}

// Latest is when the last one became ready.
func (t *Tally) Latest() (at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.ready {
		if one.After(at) {
			at = one
		}
	}
	return at
}

// AwaitReady waits until so many objects have been ready, and AwaitGone until none is there. Neither will be once the process of
// the nodes has ended, which closes ended; nil: it doesn't matter. what is for the error.
func (t *Tally) AwaitReady(ctx context.Context, ended <-chan struct{}, what string, count int) error {
	return t.await(ctx, ended, what+" to be Ready", func() bool { return len(t.ready) == count })
}

// AwaitGone waits until no object is there, see AwaitReady.
func (t *Tally) AwaitGone(ctx context.Context, ended <-chan struct{}, what string) error {
	return t.await(ctx, ended, what+" to be gone", func() bool { return len(t.there) == 0 })
}

// await asks with mu held.
func (t *Tally) await(ctx context.Context, ended <-chan struct{}, what string, wanted func() bool) error {
	for {
		t.mu.Lock()
		is, there, ready := wanted(), len(t.there), len(t.ready)
		t.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ended:
			return fmt.Errorf("wait for %s: the process of the nodes has ended: %d were ready, %d are there", what, ready, there)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %d were ready, %d are there", what, context.Cause(ctx), ready, there)
		}
	}
}
