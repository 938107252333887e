package lifecycle

import "time"

// crash kills lifepod after its last step: of the effects that the step asked
// for, and of those under way before, each was carried out, or was not, or still
// will be. What happens until another lifepod comes nobody sees; it makes its
// machine of the checkpoint (B-RST-1..14), or has none and adopts the pod.
func (w *walk) crash() {
	for _, c := range w.calls {
		w.note("resumed with a call under way", c.answer == nil)
		if c.answer != nil {
			continue // it was carried out; nobody hears the answer
		}
		switch w.draw(3, "a call at the crash") {
		case 1:
			w.perform(c.effect)
		case 2:
			w.late = append(w.late, c.effect)
		}
	}
	w.calls, w.snapshots, w.wakeAt = nil, nil, time.Time{}
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
	restored, err := Restore(w.pod, w.m.options, throughJSON(w.t, w.saved.Checkpoint()))
	if err != nil {
		w.rt.Fatalf("%v", err)
	}
	w.note("resumed", true)
	w.note("resumed in a termination", restored.stage == Terminating)
	w.m, w.laws.lastID = restored, restored.lastID
	w.laws.probes.crash()
	w.feed(Resumed{})
}

// meanwhile is what happens while lifepod is dead.
func (w *walk) meanwhile() {
	w.timePasses()
	for _, c := range w.running() {
		if w.draw(3, "exits meanwhile") == 0 {
			w.exits(c)
			w.note("exited while lifepod was dead", true)
		}
	}
	switch w.draw(12, "the machine meanwhile") {
	case 0:
		w.sandboxes, w.containers, w.late = nil, nil, nil
		w.note("rebooted", true)
	case 1:
		for _, s := range w.sandboxes {
			w.sandboxDies(s)
		}
	}
}
