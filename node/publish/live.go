package publish

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Live says what the API has of a pod of this node now: to be called by the watch
// for each object, before anything else is done with it, mirror pods included.
// The object must not be changed afterwards. A change that contradicts what was
// set is repaired (A-STAT-4); the echo of an own write is recognised.
func (w *Writer) Live(pod *v1.Pod) {
	w.mu.Lock()
	w.heard()
	var waiting []func(error)
	if old := w.objects.put(pod); old != nil { // the watch has missed its end
		waiting = w.gone(w.entryOf(old))
	}
	if e := w.entryOf(pod); e != nil {
		w.recheck(e)
		w.list(e)
	}
	w.mu.Unlock()
	tell(waiting, ErrGone)
}

// Gone says that the API does not have the object any more. Nothing more is
// written of its pod; a static pod waits for its next mirror pod.
func (w *Writer) Gone(pod *v1.Pod) {
	w.mu.Lock()
	w.heard()
	var waiting []func(error)
	if w.objects.remove(pod) {
		waiting = w.gone(w.entryOf(pod))
	}
	w.mu.Unlock()
	tell(waiting, ErrGone)
}

// entryOf is the entry of the pod that an object shows; nil if there is none. A mirror
// pod doesn't name its static pod reliably, so that one is looked for. Called with mu
// held.
func (w *Writer) entryOf(object *v1.Pod) *entry {
	if e := w.entries[object.UID]; e != nil && e.ref.isShownBy(object) {
		return e
	}
	if _, mirror := object.Annotations[v1.MirrorPodAnnotationKey]; !mirror {
		return nil
	}
	for _, e := range w.entries {
		if e.ref.isShownBy(object) {
			return e
		}
	}
	return nil
}

// gone ends the entry of an object that is not there any more. Called with mu held.
func (w *Writer) gone(e *entry) (waiting []func(error)) {
	if e == nil {
		return nil
	}
	e.answer, e.sent.agreed, e.untaken, e.kept, e.sent.last = nil, "", nil, nil, nil
	if e.ref.Static != "" && !e.last {
		return nil
	}
	return w.close(e)
}

// heard notes a sign of life of the API server. Called with mu held.
func (w *Writer) heard() {
	if !w.reach.heard(time.Now()) {
		return
	}
	w.log.Info("the API server is back: the statuses that wait are written")
	for _, e := range w.work {
		e.failures.back()
	}
	w.wake.Send()
}
