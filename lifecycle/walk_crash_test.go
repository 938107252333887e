package lifecycle

import (
	"slices"
	"time"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// crash kills lifepod after its last step. Each effect of that step, and each one under
// way before, was carried out, was not, or still will be. Nobody sees what happens until
// the next lifepod comes; it makes its machine from the checkpoint (B-RST-1..14), or has
// none and adopts the pod. The runtime may give a start up with its caller.
func (w *walk) crash() {
	w.note(walks.Fault+"lifepod killed", true)
	for _, c := range w.calls {
		w.note("resumed with a call under way", c.answer == nil)
		if c.answer != nil {
			continue // it was carried out; nobody hears the answer
		}
		what := w.draw(4, "a call at the crash")
		if _, creates := c.effect.(CreateContainer); creates && w.draw(2, "a create at the crash") == 0 {
			what = 2 // few lives have one that comes between two kills
		}
		switch what {
		case 1:
			w.perform(c.effect)
		case 2:
			w.comesLate(c.effect)
		case 3:
			w.keepsUnstarted(c.effect)
		}
	}
	w.calls, w.snapshots, w.wakeAt, w.found = nil, nil, time.Time{}, 0
	w.meanwhile()
	w.events = nil
	w.object.shown = false
	if w.saved == nil || w.draw(3, "adopted") == 0 {
		w.adopted()
	} else {
		w.restored()
	}
	if w.object.now != nil && w.draw(2, "the source is heard") == 0 {
		w.feed(PodUpdated{Pod: w.object.now})
		w.object.shown = w.object.now.DeletionTimestamp == nil
	}
}

func (w *walk) restored() {
	w.logs((*transcript).tellsKill)
	from := w.saved.Checkpoint() // which Restore reads as its file has it
	w.ownOnly(from)
	restored, err := Restore(w.pod, w.m.options, from)
	if err != nil {
		w.rt.Fatalf("%v", err)
	}
	w.note("resumed", true)
	w.note("resumed in a termination", restored.kept.Stage == Terminating)
	w.m, w.laws.lastID = restored, restored.kept.LastID
	w.laws.stage, w.laws.finished = min(w.laws.stage, Terminated), false // what ends in Gone is done, and reported, again
	w.laws.probes.crash()
	w.feed(Resumed{})
}

// ownOnly: what the runtime has counts as the pod's own, as far as its lifepods can know,
// even if it came late, between two kills (B-RST-1). Only what a lifepod had asked for
// before the pod was adopted may count as another agent's.
func (w *walk) ownOnly(from Checkpoint) {
	before := func(id string) bool { return w.isOverdue(id) && w.overdue[id] < w.adoptions }
	seen := w.snapshot()
	seen.Sandboxes = slices.DeleteFunc(seen.Sandboxes, func(s ObservedSandbox) bool { return before(s.ID) })
	seen.Containers = slices.DeleteFunc(seen.Containers, func(c ObservedContainer) bool { return before(c.ID) })
	for _, c := range seen.Containers {
		w.note("late create between two kills", w.isOverdue(c.ID) && from.begins(c))
	}
	if from.Overtaken(seen) {
		w.rt.Fatalf("the pod counts as another agent's: %+v, checkpoint %+v", seen.Containers, from.Containers)
	}
}

// begins says whether all that a checkpoint knows of an instance's attempt is that it may
// be created.
func (c Checkpoint) begins(o ObservedContainer) bool {
	return slices.ContainsFunc(c.Containers, func(k container) bool {
		return k.Name == o.Name && k.Position == exited && int64(o.Attempt) == int64(k.RestartCount)+1
	})
}

// killedAgain answers what a lifepod asks for at its start, and kills it before a create
// of the previous lifepod is carried out.
func (w *walk) killedAgain() {
	for range w.draw(6, "answers") {
		w.goOn()
	}
	w.crash()
}

// meanwhile is what happens while lifepod is dead.
func (w *walk) meanwhile() {
	for i := range slices.Backward(w.late) {
		if w.draw(2, "comes late") == 0 {
			w.performLate(i)
		}
	}
	w.timePasses()
	for _, c := range w.running() {
		if w.draw(3, "exits meanwhile") == 0 {
			w.exits(c)
			w.note("exited while lifepod was dead", true)
		}
	}
	switch w.draw(12, "the machine meanwhile") {
	case 0:
		w.Sandboxes, w.Containers, w.late = nil, nil, nil
		w.note("rebooted", true)
		w.note(walks.Fault+"reboot", true)
	case 1:
		w.note(walks.Fault+"runtime restarted", true)
		for _, s := range w.Sandboxes {
			w.EndSandbox(s, w.now)
		}
	}
}
