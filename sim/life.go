package sim

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/sim/scenario"
)

// Began is when every life begins, by its wall clock.
var Began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// UsualFor is how long a life is looked at if nobody says so.
const UsualFor = time.Hour

// Sink is told what happens, in its order.
type Sink interface {
	Status(at time.Time, status v1.PodStatus)
	Event(at time.Time, e lifecycle.RecordEvent)
	Report(at time.Time, r lifecycle.Report)
	Output(at time.Time, container, stream, text string)
	// Happened tells of what the scenario has happen around the pod, such as a reboot.
	Happened(at time.Time, w lifecycle.Words)
	// ClockSet says that the wall clock was set forward, or back if by is negative: times that follow are by the new one.
	ClockSet(by time.Duration)
}

// Options are how a life is simulated.
type Options struct {
	Scenario *scenario.Scenario // nil: everything goes the usual way
	Seed     uint64
	For      time.Duration // 0: as the scenario says
	Sink     Sink          // nil: nobody is told
	Journal  bool          // the life's entries are wanted
	// GivenUp is asked now and then whether anybody still wants the life; nil: somebody does.
	GivenUp func() bool
}

// askEvery is after how much that has happened GivenUp is asked.
const askEvery = 1000

// Run is the life of a pod, which was defaulted and validated.
func Run(pod *v1.Pod, o Options) *Life { return Of(pod).Run(o) }

// Lives are those of one pod, which was defaulted and validated. They may be run at the same time.
type Lives struct {
	pod     *v1.Pod
	machine *lifecycle.Machine // before its first fact: each life takes a clone
	unused  sync.Pool          // of machines whose lives have ended: memory for others
}

// Of is for several lives of a pod: its machine is made once.
func Of(pod *v1.Pod) *Lives { return &Lives{pod: pod, machine: lifecycle.New(pod, optionsOf())} }

func (l *Lives) Run(o Options) *Life {
	if o.Scenario == nil {
		o.Scenario = &scenario.Scenario{}
	}
	w := newWorld(l.pod, o)
	w.life.Story, w.queue = make([]Line, 0, usualLines), slices.Grow(w.queue, usualItems)
	w.agent.fresh = l.machine
	if w.agent.unused, _ = l.unused.Get().(*lifecycle.Machine); w.agent.unused == nil {
		w.agent.unused = &lifecycle.Machine{}
	}
	defer l.unused.Put(w.agent.unused)
	until := o.For
	if until == 0 {
		until = o.Scenario.For.Draw(w.dice, UsualFor)
	}
	w.begin()
	taken := 0
	for w.agent.machine == nil || w.agent.machine.Stage() != lifecycle.Gone {
		next, more := w.queue.take(until)
		if !more {
			break
		}
		w.now = next.at
		w.due(&next)
		if taken++; taken%askEvery == 0 && o.GivenUp != nil && o.GivenUp() {
			break
		}
	}
	w.life.Quiet = len(w.queue) == 0
	if !w.life.Gone && !w.life.Quiet {
		w.now = until
	}
	w.life.finish(w.now, w.wall())
	return w.life
}

// newWorld is the world before anything has happened.
func newWorld(pod *v1.Pod, o Options) *world {
	w := &world{
		pod: pod, scenario: o.Scenario, sink: o.Sink, began: Began,
		dice: rand.New(rand.NewPCG(o.Seed, o.Seed^0x9e3779b97f4a7c15)), //nolint:gosec // lives are to be repeated
		life: &Life{Pod: pod, Seed: o.Seed},
	}
	w.runtime.Tell = w.hears
	if o.Journal {
		w.agent.recorder = journal.NewRecorder(nil)
	}
	for _, e := range o.Scenario.Events {
		w.after(e.At.Draw(w.dice, 0), func() { happens(w, &e) })
		w.needsCheckpoints = w.needsCheckpoints || e.Reboot != nil || e.AgentCrash != nil
	}
	w.calls.changes = o.Scenario.Changes(w.dice)
	return w
}

// What a short life has, so that what has it need not grow.
const (
	usualLines = 16
	usualItems = 16
)

// forever is longer than anybody waits.
const forever = scenario.Forever
