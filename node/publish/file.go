package publish

import (
	"context"
	"errors"
	"time"
)

// errOutdated is an attempt whose answer shows that somebody else has changed the
// object in between.
var errOutdated = errors.New("the object has changed meanwhile")

// end files what came of an attempt, nil for none, and lets the next one begin.
func (w *Writer) end(ctx context.Context, e *entry, t *try) {
	w.mu.Lock()
	e.flight = nil
	var waiting []func(error)
	var answer error
	switch {
	case t == nil || ctx.Err() != nil || e.over:
	case t.err != nil:
		w.failed(e, t)
	case t.over:
		w.heard()
		w.objects.remove(t.pod)
		waiting, answer = w.gone(e), ErrGone
	default:
		waiting = w.written(e, t)
	}
	w.mu.Unlock()
	tell(waiting, answer) // before the next attempt, so that they hear in order

	w.mu.Lock()
	defer w.mu.Unlock()
	e.busy = false
	w.busy--
	w.reach.testing = false
	e.compact()
	w.list(e)
	w.passIdle()
	w.wake.Send()
}

// written files that the API says what was wanted. Called with mu held.
func (w *Writer) written(e *entry, t *try) (waiting []func(error)) {
	if t.asked {
		w.heard()
		if e.failures.logged != "" {
			w.Log.Info("the pod's status could be written again", "pod", e.ref)
		}
		e.failures, e.doubt, w.reach.took = failures{}, false, time.Since(t.began)
	}
	w.learn(e, t)
	e.sent.agreed, e.untaken = t.pod.ResourceVersion, t.untaken
	if len(e.queue) > 0 && e.queue[0].status == t.wanted {
		if seen := e.queue[0].settle(); seen != nil {
			waiting = append(waiting, seen)
		}
		e.queue = e.queue[1:]
	} else if t.asked { // a repair: its echo may start the next one
		e.repairAfter = time.Now().Add(repairPause)
	}
	if len(e.queue) == 0 {
		e.sent.goOn()
	}
	if e.last && len(e.queue) == 0 && e.ref.Static != "" {
		w.close(e)
	}
	return waiting
}

// repairPause is at least between two repairs of the same pod, should somebody
// else keep writing what is the node's to write.
const repairPause = time.Second

// failed files an error. Called with mu held.
func (w *Writer) failed(e *entry, t *try) {
	now := time.Now()
	e.hurry() // what was sent may not have arrived
	e.sent.goOn()
	if errors.Is(t.err, errOutdated) {
		w.learn(e, t)
	} else {
		e.doubt = true
	}
	e.failures.add(t.err, now)
	if class := e.failures.class; class != unreachable && class != unanswered {
		w.heard()
	} else if general, first := w.reach.failed(class, t.began, now); general {
		if first {
			w.Log.Warn("the API server does not answer: statuses wait", "err", t.err)
		}
		return
	}
	if e.failures.news(t.err) {
		w.Log.Error("the pod's status can't be written", "pod", e.ref, "err", t.err)
	}
}

// learn keeps the object that the API server has shown. Called with mu held.
func (w *Writer) learn(e *entry, t *try) {
	if live := w.objects.of(e.ref); live != nil && live.UID == t.pod.UID && newer(t.pod, live) {
		e.answer = t.pod
	}
}
