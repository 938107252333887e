package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// agent is the lifepod that leads the pod.
type agent struct {
	fresh      *lifecycle.Machine // before its first fact: it takes none, but its clones do
	unused     *lifecycle.Machine // memory for the clone
	machine    *lifecycle.Machine // nil: it is away
	awayUntil  time.Duration
	waiting    []func()          // what the API server keeps until it is back
	recorder   *journal.Recorder // nil: nobody wants the journal
	times      int               // how often it was started: answers are for the one that asked
	saved      checkpoint
	timer      int           // counts the timers: only the newest one fires
	knownDrift time.Duration // the clock's changes that the machine knows of
}

// checkpoint is what the next agent goes on with.
type checkpoint struct {
	text  []byte        // nil: there is none yet
	drift time.Duration // the clock's changes that it knows of
	boot  bool          // the node was rebooted since: nobody knows how the clock was set meanwhile
}

func optionsOf() lifecycle.Options {
	o := lifecycle.DefaultOptions()
	o.HostIPs = []string{"192.0.2.1"}
	return o
}

func (w *world) begin() {
	w.agent.machine = w.agent.fresh.CloneInto(w.agent.unused)
	if refuse := w.scenario.Refuse; refuse != nil {
		w.feed(lifecycle.Rejected{Reason: refuse.Reason, Message: refuse.Message})
		return
	}
	w.feed(lifecycle.Accepted{})
}

// learns has the agent that is there now learn a fact later, if it is still there then.
func (w *world) learns(d time.Duration, fact lifecycle.Fact) {
	w.queue.put(item{at: w.now + d, fact: fact, of: w.agent.times})
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
	if changed := w.drift - w.agent.knownDrift; changed != 0 {
		w.agent.knownDrift = w.drift
		w.step(lifecycle.ClockChanged{By: changed})
	}
	w.step(fact)
}

func (w *world) step(fact lifecycle.Fact) {
	at := w.wall()
	w.life.Steps++
	effects := w.agent.machine.Step(lifecycle.Event{At: at, Fact: fact})
	if w.needsCheckpoints && w.agent.machine.ToSave() {
		text, err := json.Marshal(w.agent.machine.Checkpoint())
		if err != nil {
			panic(fmt.Sprintf("sim: checkpoint: %v", err)) // it is plain data
		}
		w.agent.saved = checkpoint{text: text, drift: w.agent.knownDrift}
	}
	if w.agent.recorder != nil { // a chart is about how long things took, however the clock is set
		w.life.Entries = append(w.life.Entries, w.agent.recorder.Step(w.began.Add(w.now), fact, effects)...)
	}
	for _, effect := range effects {
		w.carryOut(at, effect)
	}
}

// asked has the agent learn what somebody wants of the pod. The API server keeps it until the agent is back.
func asked(w *world, what, because string, learn func()) {
	if w.outside.learns != nil || w.agent.machine != nil {
		learn()
		return
	}
	w.agent.waiting = append(w.agent.waiting, learn)
	announce(w, lifecycle.Words{Subject: "pod", What: what, Outcome: "the agent learns of it when it is back", Because: because})
}

// crash ends the agent at once: what it had asked for goes on without it.
func (w *world) crash() {
	w.agent.machine = nil
	w.agent.times++
	w.agent.timer++
	w.calls.underWay = nil
}

// start lets another agent go on with the pod. It learns what was asked for meanwhile before it sees what the runtime
// has.
func (w *world) start() {
	if w.agent.machine != nil || w.life.Gone {
		return
	}
	w.agent.times++
	if saved := w.agent.saved; saved.text == nil {
		w.agent.knownDrift = w.drift
		w.begin()
	} else {
		resume(w, saved)
	}
	waiting := w.agent.waiting
	w.agent.waiting = nil
	for _, learn := range waiting {
		learn()
	}
	w.look()
}

func resume(w *world, saved checkpoint) {
	var from lifecycle.Checkpoint
	if err := json.Unmarshal(saved.text, &from); err != nil {
		panic(fmt.Sprintf("sim: checkpoint: %v", err)) // step wrote it
	}
	machine, err := lifecycle.Restore(w.pod, optionsOf(), from)
	if err != nil {
		panic(fmt.Sprintf("sim: checkpoint: %v", err))
	}
	resumed := lifecycle.Resumed{ClockChanged: w.drift - saved.drift}
	if saved.boot {
		resumed.ClockChanged = 0
	}
	w.agent.machine, w.agent.knownDrift = machine, w.drift
	w.feed(resumed)
}
