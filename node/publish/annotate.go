package publish

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// notes are the annotations of a pod's object that are the node's.
type notes struct {
	all    map[string]string // replaced, never changed
	unsent bool              // the next status has to tell of them
}

// Annotate says which annotations of the pod's object are the node's (B-GRP-3). They are
// written with the next status that is set, which does not wait for what follows, and with
// all later ones; nothing is written for them alone. The API server lets a node write them
// with the status, and not without (B-GRP-14). A static pod has none: its mirror pod has
// the annotations of its manifest.
func (w *Writer) Annotate(pod Ref, annotations map[string]string) {
	if pod.Static != "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entry(pod)
	if maps.Equal(e.sent.notes.all, annotations) {
		return
	}
	e.sent.notes = notes{all: maps.Clone(annotations), unsent: true}
	e.untaken = nil // the API server has not been told of these
}

// missing are the annotations that an object lacks, or has otherwise.
func missing(have, want map[string]string) map[string]string {
	var lacks map[string]string
	for key, value := range want {
		if is, found := have[key]; found && is == value {
			continue
		}
		if lacks == nil {
			lacks = map[string]string{}
		}
		lacks[key] = value
	}
	return lacks
}

// AwaitSent waits until the API server has all that was set before, as far as it has the
// pods, or until ctx ends.
func (w *Writer) AwaitSent(ctx context.Context) {
	w.mu.Lock()
	if w.isIdle() {
		w.mu.Unlock()
		return
	}
	idle := w.awaited.idle.wait()
	w.wake.Send() // what waits for what follows is due
	w.mu.Unlock()
	await(ctx, idle)
}

// AwaitDue is the same, but for what only tells of progress and waits for what follows (A-STAT-12).
func (w *Writer) AwaitDue(ctx context.Context) {
	w.mu.Lock()
	if w.onlyProgress() {
		w.mu.Unlock()
		return
	}
	due := w.awaited.due.wait()
	w.mu.Unlock()
	await(ctx, due)
}

func await(ctx context.Context, done <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-done:
	}
}

// awaited is what somebody waits for.
type awaited struct {
	idle gate // nothing is to be written
	due  gate // nothing is to be written but progress
}

// gate is closed until what somebody waits for is so.
type gate struct{ open chan struct{} } // nil: nobody waits

func (g *gate) wait() <-chan struct{} {
	if g.open == nil {
		g.open = make(chan struct{})
	}
	return g.open
}

func (g *gate) pass() {
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// isIdle says that nothing is to be written. Called with mu held.
func (w *Writer) isIdle() bool { return w.busy == 0 && len(w.work) == 0 }

// onlyProgress says that what is to be written waits for what follows. Called with mu held.
func (w *Writer) onlyProgress() bool {
	if w.busy > 0 {
		return false
	}
	return !slices.ContainsFunc(w.work, func(e *entry) bool { return len(e.queue) == 0 || e.queue[0].since.IsZero() })
}

// passIdle lets those go on that wait for nothing to be left. Called with mu held.
func (w *Writer) passIdle() {
	if w.awaited.due.open != nil && w.onlyProgress() {
		w.awaited.due.pass()
	}
	if w.isIdle() {
		w.awaited.idle.pass()
	}
}

// objects are the API's objects of the node's pods as the watch last showed them.
// They are the informer's own, not copies.
type objects map[types.NamespacedName]*v1.Pod

func nameOf(pod *v1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

// of is the object of a pod; nil if there is none.
func (o objects) of(pod Ref) *v1.Pod {
	object := o[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
	if object == nil || !pod.isShownBy(object) {
		return nil
	}
	return object
}

// put files an object; old is another of the same name that there no longer is.
func (o objects) put(pod *v1.Pod) (old *v1.Pod) {
	name := nameOf(pod)
	if before := o[name]; before != nil && before.UID != pod.UID {
		old = before
	}
	o[name] = pod
	return old
}

// remove forgets an object, and says whether it was there.
func (o objects) remove(pod *v1.Pod) bool {
	have := o[nameOf(pod)]
	if have == nil || have.UID != pod.UID {
		return false
	}
	delete(o, nameOf(pod))
	return true
}

// newer says whether a is a later version of an object than b; of versions that
// can't be compared, the watch's is.
func newer(a, b *v1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
