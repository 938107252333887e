package publish

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
	w.Log.Info("the API server is back: the statuses that wait are written")
	for _, e := range w.work {
		e.failures.back()
	}
	w.wake.Send()
}

// reach is whether the API server can be reached. While it is away, one request
// at a time tests it, at most two seconds after the last one; the first answer
// of any kind lets everything go again.
type reach struct {
	away    bool // it refuses connections: one request at a time tests it
	silent  bool // that, or requests time out
	testing bool // a request is under way that shows whether it is back
	testAt  time.Time
	pause   wait.Backoff
	heardAt time.Time     // the last sign of it
	backAt  time.Time     // the first after it had been silent
	took    time.Duration // how long the last write took that was answered
}

// failed notes a request, begun at a time, that got no answer. It says whether
// that concerns all pods, which it does unless there was a sign of life since,
// and whether it is the first of its kind.
func (r *reach) failed(class failure, began, now time.Time) (general, first bool) {
	if r.heardAt.After(began) {
		return began.Before(r.backAt), false
	}
	first, r.silent = !r.silent, true
	if class == unreachable {
		if !r.away {
			r.away, r.pause = true, newBackoff()
		}
		r.testAt = now.Add(r.pause.Step())
	}
	return true, first
}

// heard notes a sign of life, and reports whether that is news.
func (r *reach) heard(now time.Time) (news bool) {
	r.heardAt, news = now, r.silent
	if news {
		r.backAt = now
	}
	r.away, r.silent, r.testing = false, false, false
	return news
}

// notBefore is when a request can be made that is due at a time.
func (r *reach) notBefore(due time.Time) time.Time {
	if r.away && r.testAt.After(due) {
		return r.testAt
	}
	return due
}

// newBackoff are the pauses after failures that go away by themselves.
func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 10, Cap: 1500 * time.Millisecond}
}

// newRefusedBackoff are those after a refusal, which only another status or
// another state of the API server ends.
func newRefusedBackoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 20, Cap: time.Minute}
}
