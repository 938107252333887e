package roster

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// walkPeriods are those of every walk.
var walkPeriods = []Period{{Priority: 0, GraceSeconds: 20}, {Priority: 2000000000, GraceSeconds: 10}}

// shutsDown has the machine shut down, or cancel that.
func (w *walk) shutsDown() {
	if w.draw(3, "cancelled") == 0 {
		w.post(ShutdownCancelled{})
		return
	}
	w.post(ShutdownBegan{})
}

// shutdownLaws are what holds of a shutdown of the machine. They keep books of their own.
type shutdownLaws struct {
	began    time.Time // zero: the machine is not shutting down
	released bool
	stopped  map[types.UID]bool
	ends     map[types.UID]bool // pods that began to be ended; the API server may tell an older version afterwards
}

func (l *shutdownLaws) fact(w *walk, fact Fact) {
	switch f := fact.(type) {
	case ShutdownBegan:
		if l.began.IsZero() {
			*l = shutdownLaws{began: w.now, stopped: map[types.UID]bool{}, ends: map[types.UID]bool{}}
		}
	case ShutdownCancelled:
		*l = shutdownLaws{}
	case Ended:
		delete(l.stopped, f.UID)
		delete(l.ends, f.UID)
	case Panicked:
		delete(l.stopped, f.UID)
	case NotResumed:
		delete(l.stopped, f.UID)
	}
}

func (l *shutdownLaws) effect(all *laws, effect Effect) {
	w := all.w
	switch e := effect.(type) {
	case Begin:
		if !l.began.IsZero() && e.Pod.DeletionTimestamp == nil {
			w.rt.Fatalf("%s begins while the machine shuts down (B-SHD-2)", e.Pod.UID)
		}
		if !l.began.IsZero() {
			l.ends[e.Pod.UID] = true
		}
	case Refuse:
		w.note("refused by a shutdown", e.Why.Reason == shutdownReason)
		if e.Why.Reason == shutdownReason && l.began.IsZero() {
			w.rt.Fatalf("%s is refused, and the machine does not shut down (B-SHD-2)", e.Pod.UID)
		}
	case Tell:
		if f, is := e.Fact.(lifecycle.EvictionRequested); is && f.Reason == terminatedReason {
			l.tells(w, e.UID, *f.GraceSeconds)
		}
	case ReleaseInhibitor:
		if l.began.IsZero() || l.released {
			w.rt.Fatalf("there is nothing to release")
		}
		l.released = true
		w.note("released in time", w.now.Before(l.began.Add(ShutdownTime(walkPeriods))))
	}
}

// tells: only while the machine shuts down; a critical pod when every other was told or the
// time of the others is over; with a grace period that is neither longer than its own nor
// than its group's (B-SHD-4).
func (l *shutdownLaws) tells(w *walk, uid types.UID, grace int64) {
	w.note("told to end by a shutdown", true)
	pod := w.m.pods[uid].newest
	group := walkPeriods[0]
	if inLastGroup(pod) {
		group = walkPeriods[1]
		l.othersWereStopped(w)
	}
	switch {
	case l.began.IsZero():
		w.rt.Fatalf("%s is to end, and the machine does not shut down", uid)
	case l.stopped[uid]:
		w.rt.Fatalf("%s is told a second time", uid)
	case grace > group.GraceSeconds || grace > *pod.Spec.TerminationGracePeriodSeconds:
		w.rt.Fatalf("%s has %d s (B-SHD-4)", uid, grace)
	}
	l.stopped[uid] = true
}

func (l *shutdownLaws) othersWereStopped(w *walk) {
	if !w.now.Before(l.began.Add(walkPeriods[0].grace())) {
		return
	}
	for uid := range w.workers {
		p := w.m.pods[uid]
		if p == nil || !p.alive() || p.refused || lifecycle.Terminal(p.status.Phase) || inLastGroup(p.newest) {
			continue
		}
		if !l.stopped[uid] && !l.ends[uid] && p.newest.DeletionTimestamp == nil {
			w.rt.Fatalf("a critical pod is to end before %s, of phase %q (B-SHD-4)", uid, p.status.Phase)
		}
	}
}

func inLastGroup(pod *v1.Pod) bool {
	return pod.Spec.Priority != nil && *pod.Spec.Priority >= walkPeriods[1].Priority
}

// rests: when nothing happens any more, the machine is held up no longer.
func (l *shutdownLaws) rests(w *walk) {
	if !l.began.IsZero() && !l.released {
		w.rt.Fatalf("the machine never shuts down")
	}
}
