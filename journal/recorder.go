package journal

import (
	"cmp"
	"maps"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// Recorder makes the entries of one pod's journal from the facts and effects of its machine.
// It is pure. What it knows follows from the entries alone, so that the recorder of the next
// lifepod goes on where this one was.
type Recorder struct {
	last int64 // the newest entry's ID

	underWay  map[lifecycle.EffectID]work
	instances map[string]instance // by container ID
	decided   map[string]int64    // the newest decision by container; "" is the pod
	starts    map[string]int64    // what was begun to start an instance, by container ID
	stops     map[string]int64    // what was begun to end one
	sandbox   int64               // what was begun to end all of them; 0: nothing
	shown     map[string]string   // milestones
	failures  map[probe]int32     // counted, in a row
}

// work is an effect under way.
type work struct {
	begun int64 // its entry; 0: such effects have none
	entry Entry // what its answer has in common with it
	probe probe
}

// instance is one of a container's.
type instance struct {
	container string
	attempt   uint32
}

type probe struct {
	instance
	kind lifecycle.ProbeKind
}

// NewRecorder goes on after the entries of before, oldest first.
func NewRecorder(before []Entry) *Recorder {
	r := &Recorder{
		underWay: map[lifecycle.EffectID]work{}, instances: map[string]instance{}, decided: map[string]int64{}, starts: map[string]int64{}, stops: map[string]int64{},
		shown: map[string]string{}, failures: map[probe]int32{},
	}
	for _, e := range before {
		r.learn(e)
	}
	return r
}

// Step returns the entries of one step of the machine: what it was told, and what it did.
func (r *Recorder) Step(at time.Time, fact lifecycle.Fact, effects []lifecycle.Effect) []Entry {
	s := &step{Recorder: r, at: at}
	keep := s.fact(fact, effects)
	_, s.timer = fact.(lifecycle.Woke)
	for _, effect := range effects {
		s.effect(effect)
	}
	if !keep && s.root != 0 && s.root == r.last { // nothing followed from it
		r.last--
		return nil
	}
	return s.entries
}

// step is one step of the machine as it becomes entries.
type step struct {
	*Recorder
	at       time.Time
	entries  []Entry
	root     int64 // the entry of the fact; 0: none
	timer    bool  // the fact is that time has passed
	snapshot bool  // the fact is what the runtime has, which may be reported before what happened
}

// add files an entry.
func (s *step) add(e Entry) int64 {
	s.last++
	e.ID, e.At = s.last, s.at
	s.entries = append(s.entries, e)
	s.learn(e)
	return e.ID
}

// learn takes from an entry what later ones are about.
func (r *Recorder) learn(e Entry) {
	r.last = max(r.last, e.ID)
	switch e.Kind {
	case Decided:
		r.decided[e.Container] = e.ID
	case Milestone:
		r.shown[milestoneKey(e)] = milestoneValue(e)
	case Begun:
		r.learnBegun(e)
	case Answered:
		if id := e.Detail[DetailContainerID]; id != "" {
			r.knows(id, instance{e.Container, e.Attempt})
		}
	case Event:
	case Fact:
		if e.Exit != nil {
			delete(r.starts, e.Detail[DetailContainerID])
			delete(r.stops, e.Detail[DetailContainerID])
		}
	}
}

// knows files a container's ID. Of each container the two newest instances are known.
func (r *Recorder) knows(id string, of instance) {
	r.instances[id] = of
	maps.DeleteFunc(r.instances, func(_ string, i instance) bool { return i.container == of.container && i.attempt+1 < of.attempt })
}

func (r *Recorder) learnBegun(e Entry) {
	r.underWay[e.Effect] = work{begun: e.ID, entry: common(e)}
	switch e.Name {
	case "StartContainer":
		r.starts[e.Detail[DetailContainerID]] = e.ID
	case "StopContainer", "RemoveContainer":
		r.stops[e.Detail[DetailContainerID]] = e.ID
	case "StopSandbox", "RemoveSandbox":
		r.sandbox = e.ID
	case "CreateSandbox":
		r.sandbox = 0
	}
}

// common is what an answer has in common with what it answers.
func common(begun Entry) Entry {
	return Entry{
		Cause: begun.ID, Kind: Answered, Name: begun.Name, Container: begun.Container, Attempt: begun.Attempt, Effect: begun.Effect, Image: begun.Image,
	}
}

func milestoneKey(e Entry) string   { return e.Container + "\x00" + e.Name }
func milestoneValue(e Entry) string { return e.Value + "\x00" + e.Because + "\x00" + e.What }

// cause is what something about a container follows from: what was decided about it in this
// step, or about the pod, else the fact. If it is only that time has passed, it is the
// decision that waited for it.
func (s *step) cause(container string) int64 {
	first := s.last - int64(len(s.entries))
	if id := s.decided[container]; id > first {
		return id
	}
	if id := s.decided[""]; id > first {
		return id
	}
	if s.timer {
		return cmp.Or(s.decided[container], s.decided[""])
	}
	return s.root
}
