package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lifepod/lifepod/bench/testbed"
)

// seen is what watches have shown in a round.
type seen struct{ nodes, pods *tally }

func newSeen(ready func(*v1.Pod) bool) *seen {
	return &seen{
		nodes: newTally(func(o metav1.Object) bool { node, is := o.(*v1.Node); return is && nodeIsReady(node) }),
		pods:  newTally(func(o metav1.Object) bool { pod, is := o.(*v1.Pod); return is && ready(pod) }),
	}
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

// tally counts objects as a watch shows them.
type tally struct {
	isReady func(metav1.Object) bool

	mu      sync.Mutex
	there   map[string]bool
	ready   map[string]time.Time // when each was seen to be ready for the first time
	changes int                  // of objects that were there
}

func newTally(isReady func(metav1.Object) bool) *tally {
	return &tally{isReady: isReady, there: map[string]bool{}, ready: map[string]time.Time{}}
}

// follow watches until ctx ends. A watch that the API server ends, as it does with one that can't follow,
// resumes where it was.
func (t *tally) follow(ctx context.Context, open testbed.Opener) {
	var options metav1.ListOptions
	for ctx.Err() == nil {
		w, err := open(ctx, options)
		if err != nil {
			_ = testbed.Sleep(ctx, 100*time.Millisecond) // the loop sees that ctx has ended
			continue
		}
		for e := range w.ResultChan() {
			if object, is := e.Object.(metav1.Object); is {
				options.ResourceVersion = object.GetResourceVersion()
				t.note(time.Now(), e.Type, object)
			}
		}
		w.Stop()
	}
}

func (t *tally) note(at time.Time, kind watch.EventType, object metav1.Object) {
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

// count is how often objects have changed.
func (t *tally) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// readyAt is when an object became ready.
func (t *tally) readyAt(name string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready[name]
}

// latest is when the last one became ready.
func (t *tally) latest() (at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.ready {
		if one.After(at) {
			at = one
		}
	}
	return at
}

// await waits until the objects are as wanted, which they won't be once the process of the nodes has ended; nil: it doesn't matter.
func (t *tally) await(ctx context.Context, of nodes, what string, wanted func(*tally) bool) error {
	var ended <-chan struct{}
	if of != nil {
		ended = of.Ended()
	}
	for {
		t.mu.Lock()
		is, there, ready := wanted(t), len(t.there), len(t.ready)
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
