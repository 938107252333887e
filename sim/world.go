package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
	"github.com/lifepod/lifepod/worker/deadline"
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

// agent is the lifepod that leads the pod.
type agent struct {
	fresh    *lifecycle.Machine // before its first fact: it takes none, but its clones do
	unused   *lifecycle.Machine // memory for the clone
	machine  *lifecycle.Machine // nil: it has crashed
	recorder *journal.Recorder  // nil: nobody wants the journal
	times    int                // how often it was started: answers are for the one that asked
	saved    []byte             // the last checkpoint; nil: none yet
	timer    int                // counts the timers: only the newest one fires
	told     time.Duration      // the clock's changes that the machine knows of
}

func (w *world) wall() time.Time { return w.began.Add(w.now + w.drift) }

// after puts in what happens later.
func (w *world) after(d time.Duration, do func()) { w.queue.put(item{at: w.now + d, do: do}) }

// learns has the agent that is there now learn a fact later, if it is still there then.
func (w *world) learns(d time.Duration, fact lifecycle.Fact) {
	w.queue.put(item{at: w.now + d, fact: fact, of: w.agent.times})
}

// due does what is due.
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

func optionsOf() lifecycle.Options {
	o := lifecycle.DefaultOptions()
	o.HostIPs = []string{"192.0.2.1"}
	return o
}

// begin begins the life.
func (w *world) begin() {
	w.agent.machine = w.agent.fresh.CloneInto(w.agent.unused)
	if refuse := w.scenario.Refuse; refuse != nil {
		w.feed(lifecycle.Rejected{Reason: refuse.Reason, Message: refuse.Message})
		return
	}
	w.feed(lifecycle.Accepted{})
}

// feed gives the machine a fact and carries its effects out. Without an agent nobody learns of
// it.
func (w *world) feed(fact lifecycle.Fact) {
	if w.outside.learns != nil {
		w.outside.learns(fact)
		return
	}
	if w.agent.machine == nil {
		return
	}
	if changed := w.drift - w.agent.told; changed != 0 {
		w.agent.told = w.drift
		w.step(lifecycle.ClockChanged{By: changed})
	}
	w.step(fact)
}

func (w *world) step(fact lifecycle.Fact) {
	at := w.wall()
	w.life.Steps++
	effects := w.agent.machine.Step(lifecycle.Event{At: at, Fact: fact})
	if w.needsCheckpoints && w.agent.machine.ToSave() {
		saved, err := json.Marshal(w.agent.machine.Checkpoint())
		if err != nil {
			panic(fmt.Sprintf("sim: checkpoint: %v", err)) // it is plain data
		}
		w.agent.saved = saved
	}
	if w.agent.recorder != nil {
		w.life.Entries = append(w.life.Entries, w.agent.recorder.Step(at, fact, effects)...)
	}
	for _, effect := range effects {
		w.carryOut(at, effect)
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

// start lets another agent go on with the pod.
func (w *world) start() {
	if w.agent.machine != nil || w.life.Gone {
		return
	}
	w.agent.times++
	w.agent.told = w.drift
	if w.agent.saved == nil {
		w.begin()
		return
	}
	var from lifecycle.Checkpoint
	if err := json.Unmarshal(w.agent.saved, &from); err != nil {
		panic(fmt.Sprintf("sim: checkpoint: %v", err)) // the line above wrote it
	}
	machine, err := lifecycle.Restore(w.pod, optionsOf(), from)
	if err != nil {
		panic(fmt.Sprintf("sim: checkpoint: %v", err))
	}
	w.agent.machine = machine
	w.feed(lifecycle.Resumed{})
	w.look()
}

// crash ends the agent at once: what it had asked for goes on without it.
func (w *world) crash() {
	w.agent.machine = nil
	w.agent.times++
	w.agent.timer++
	w.calls.underWay = nil
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
	if w.runtime.looking = w.runtime.quiet < deadline.UnchangedEnough; w.runtime.looking {
		w.after(deadlines.Relist, w.relist)
	}
}

// look takes a snapshot that the machine has not asked for.
func (w *world) look() {
	if w.outside.learns != nil || w.agent.machine != nil && !w.agent.machine.Resting() {
		w.call(lifecycle.Observe{})
	}
}
