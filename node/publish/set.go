package publish

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrUnseen tells that a transition has not reached the API server in time.
	// It will still be written, unless something newer takes its place.
	ErrUnseen = errors.New("the API server has not taken the status yet")
	// ErrGone tells that a transition will never be seen: the pod is no longer in
	// the API, or was forgotten.
	ErrGone = errors.New("the pod is not in the API any more")
)

// Ref names a pod by what the node knows of it. The UID of a static pod is its
// own; its status goes to its mirror pod.
type Ref struct {
	Namespace, Name string
	UID             types.UID
	// Static is the hash of a static pod's manifest; empty for a pod of the API.
	Static string
}

// String is the pod's namespace and name.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// isShownBy says whether an API object is the pod's: it has the pod's UID, or it is
// the mirror pod of the static pod. Everybody who creates pods can write the
// annotation of a mirror pod, with any hash: it says nothing of a pod of the API,
// nor of a static pod of another name.
func (r Ref) isShownBy(object *v1.Pod) bool {
	if r.Namespace != object.Namespace || r.Name != object.Name {
		return false
	}
	hash, mirror := object.Annotations[v1.MirrorPodAnnotationKey]
	if r.Static != "" {
		return mirror && hash == r.Static
	}
	return !mirror && r.UID == object.UID
}

// Set says what the status of a pod is now, and owns it from then on. It is
// written as soon as possible after Live has shown the pod's object; until then
// it waits. Only the newest of the waiting ones is written. One that only tells of
// progress waits a moment for what follows (A-STAT-12).
//
// With seen the status is a transition that watchers must see: it is written by
// itself, in order, and seen is called once, with nil when the API server has it,
// with ErrUnseen if that takes longer than Config.Patience, with ErrGone if it
// never will. seen must not block; it is never called from within Set. While a member restarts with its group, it waits like any
// other status (A-STAT-12).
func (w *Writer) Set(pod Ref, status v1.PodStatus, seen func(error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(pod, status, seen)
}

// Delete says what the last status of a pod is of which nothing is left on this
// node (B-FIN-6). When it is written, and the API wants the pod to be deleted,
// the object is deleted for good, with the UID as precondition (B-DEL-9,
// B-DEL-10). It is the last call for a pod; nothing of it is kept afterwards.
func (w *Writer) Delete(pod Ref, status v1.PodStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.set(pod, status, nil); e.over {
		delete(w.entries, pod.UID) // it is gone from the API already
	} else {
		e.last = true
		e.hurry()
	}
}

func (w *Writer) set(pod Ref, status v1.PodStatus, seen func(error)) *entry {
	e := w.entry(pod)
	if e.over {
		if seen != nil {
			go seen(ErrGone)
		}
		return e
	}
	normalize(&status)
	u := &update{status: &status, notes: e.sent.notes.all, seen: seen}
	switch {
	case w.restarts(e, u):
		u.since, u.reason, u.seen = time.Now(), forStart, nil
		if seen != nil {
			go seen(ErrUnseen)
		}
	case len(e.queue) > 0 && e.queue[len(e.queue)-1].reason == forStart: // it has started
	case !e.sent.notes.unsent && w.mayWait(e, u):
		u.since = time.Now()
	}
	e.sent.notes.unsent = false
	if u.seen != nil {
		u.late = time.AfterFunc(w.Patience, func() { w.unseen(u) })
	}
	w.want(e, u.status)
	e.push(u)
	e.failures.renewed()
	w.list(e)
	return e
}

// entry is what is kept of a pod, from now on. Called with mu held.
func (w *Writer) entry(pod Ref) *entry {
	e := w.entries[pod.UID]
	if e == nil {
		e = &entry{ref: pod}
		w.entries[pod.UID] = e
	}
	return e
}

// unseen lets the one who waits for a transition go on.
func (w *Writer) unseen(u *update) {
	w.mu.Lock()
	seen := u.settle()
	w.mu.Unlock()
	if seen != nil {
		seen(ErrUnseen)
	}
}

// Forget drops everything that is kept of a pod, written or not: for one that
// the node knows no longer and that Delete was not called for, or whose object
// the API turned out not to have.
func (w *Writer) Forget(uid types.UID) {
	w.mu.Lock()
	var waiting []func(error)
	if e := w.entries[uid]; e != nil {
		waiting = w.close(e)
		delete(w.entries, uid)
	}
	w.mu.Unlock()
	tell(waiting, ErrGone)
}

// close says that nothing more of the pod will be written. Called with mu held.
func (w *Writer) close(e *entry) (waiting []func(error)) {
	w.want(e, nil)
	e.over, e.answer, e.sent.last = true, nil, nil
	if e.last {
		delete(w.entries, e.ref.UID)
	}
	e.sent.goOn()
	return e.drop()
}
