package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// world is a pod's machine with all that is around it on a node.
type world struct {
	// immutable
	pod      *v1.Pod
	scenario *scenario.Scenario
	sink     Sink // nil: nobody is told
	began    time.Time
	outside  outside

	dice             *rand.Rand
	queue            queue
	now              time.Duration // since the beginning, by a clock that runs evenly
	drift            time.Duration // by which the wall clock was changed
	life             *Life
	needsCheckpoints bool // an agent will end before its pod

	agent   agent
	runtime runtime
	calls   calls
	images  images
}

// outside is who leads the pod's machine in place of an agent, and reads what containers write.
type outside struct {
	learns func(lifecycle.Fact) // nil: there is an agent
	output Output               // beside the sink; nil: nobody reads it
	slow   float64              // calls of the runtime take so many times as long; 0: as long as usual
}

// wall is the time by the wall clock, which the scenario may set.
func (w *world) wall() time.Time { return w.began.Add(w.now + w.drift) }

// after puts in what happens later.
func (w *world) after(d time.Duration, do func()) { w.queue.put(item{at: w.now + d, do: do}) }

func (w *world) due(next *item) {
	switch {
	case next.call != nil:
		tookItsTime(w, next.call)
	case next.fact == nil:
		next.do()
	case next.of == w.agent.times:
		w.feed(next.fact)
	}
}

// carryOut does what the machine wants: at once, or as a call that is answered later.
func (w *world) carryOut(at time.Time, effect lifecycle.Effect) {
	switch e := effect.(type) {
	case lifecycle.Publish:
		w.life.status(w.now, &e.Status)
		if w.sink != nil {
			w.sink.Status(at, e.Status)
		}
		if e.ID != 0 {
			w.learns(0, lifecycle.AnswerTo(e, nil))
		}
	case lifecycle.RecordEvent:
		if w.sink != nil {
			w.sink.Event(at, e)
		}
	case lifecycle.Tell:
		w.life.tell(w.now, e.Report)
		if w.sink != nil {
			w.sink.Report(at, e.Report)
		}
	case lifecycle.WakeAt:
		w.setTimer(e.At)
	case lifecycle.Cancel:
		w.cancel(e.ID)
	case lifecycle.CountEviction, lifecycle.DeleteObject:
	case lifecycle.Finish:
		w.life.Gone, w.life.End = true, e.End
	default:
		w.call(effect)
	}
}

// setTimer replaces the one timer.
func (w *world) setTimer(at time.Time) {
	w.agent.timer++
	if at.IsZero() {
		return
	}
	mine := w.agent.timer
	w.after(max(0, at.Sub(w.wall())), func() {
		if w.agent.timer == mine {
			w.feed(lifecycle.Woke{})
		}
	})
}

// changed has the pod looked at regularly until nothing has happened for some time.
func (w *world) changed() {
	w.runtime.quiet = 0
	if w.runtime.looking {
		return
	}
	w.runtime.looking = true
	w.queue.put(item{at: w.now - w.now%deadlines.Relist + deadlines.Relist, do: w.relist})
}

func (w *world) relist() {
	w.runtime.quiet++
	w.look()
	if w.runtime.looking = w.runtime.quiet < cri.UnchangedEnough; w.runtime.looking {
		w.after(deadlines.Relist, w.relist)
	}
}

// look takes a snapshot that the machine has not asked for.
func (w *world) look() {
	if w.outside.learns != nil || w.agent.machine != nil && !w.agent.machine.Resting() {
		w.call(lifecycle.Observe{})
	}
}

// queue has what is going to happen, the next at its end; what is due at the same time comes
// in the order in which it was put in.
type queue []item

// item is one thing that is going to happen: one of the three.
type item struct {
	at time.Duration // since the simulation began

	do   func()
	call *call          // it has taken its time
	fact lifecycle.Fact // the agent learns it, if it is still the one
	of   int            // that agent
}

func (q *queue) put(i item) {
	place, _ := slices.BinarySearchFunc(*q, i.at, func(other item, at time.Duration) int { return cmp.Compare(at, other.at) })
	*q = slices.Insert(*q, place, i)
}

// take is what happens next, if it does until then.
func (q *queue) take(until time.Duration) (next item, more bool) {
	end := len(*q) - 1
	if end < 0 || (*q)[end].at > until {
		return item{}, false
	}
	next = (*q)[end]
	*q = slices.Delete(*q, end, end+1)
	return next, true
}
