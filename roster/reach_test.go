package roster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/prove/walks"
)

// before is the pod that a fact is about, as it is before the machine hears of it; nil for one that is not known.
func (w *walk) before(fact Fact) *pod {
	var uid types.UID
	switch f := fact.(type) {
	case Panicked:
		uid = f.UID
	case Wanted:
		uid = f.Pod.UID
	case Looked:
		uid = f.UID
	case Ended:
		uid = f.UID
	}
	p := w.m.pods[uid]
	if p == nil {
		return nil
	}
	was := *p
	return &was
}

// reach notes the rare branches that a step went through. The pod that the fact is about is as it was before.
func (w *walk) reach(was *pod, fact Fact, effects []Effect) {
	for _, e := range effects {
		w.note(fmt.Sprintf("%T", e), true)
		switch e := e.(type) {
		case Begin, Adopt:
			w.note(walks.Lives, true)
		case Report:
			w.note(e.Rule, true)
			w.note("overtaken", e.Because == "another agent has run it meanwhile")
		case Tell:
			w.note(fmt.Sprintf("%T", e.Fact), true)
		case Know:
			w.note("again", e.Again)
		}
	}
	if opened, is := fact.(Opened); is {
		w.note("unheard after a reboot", opened.Rebooted && len(opened.Remembered) > 0)
	}
	if was == nil {
		return
	}
	switch f := fact.(type) {
	case Panicked:
		w.note("panicked while it left", was.position == Leaving)
	case Wanted:
		w.note("wanted again while it left", was.position == Leaving)
	case Looked:
		w.note("gone when it was looked at", len(f.Has.Sandboxes) == 0)
		w.note("looked at, nobody wanted it", !was.wanted)
	case Ended:
		w.note("static pods of one name", was.source.Static() && w.namesakeWaits(was))
	}
}

// counts notes where each pod stands.
func (w *walk) counts() {
	w.seen[walks.Steps]++
	w.reachAPI()
	for _, p := range w.m.pods {
		if p.position == Waiting {
			w.seen[walks.State+"waiting for "+p.reason.rule()]++
		} else {
			w.seen[walks.State+p.position.String()]++
		}
	}
}

func (w *walk) namesakeWaits(ended *pod) bool {
	for _, p := range w.m.pods {
		if p.uid != ended.uid && p.name() == ended.name() && p.position == Living {
			return true
		}
	}
	return false
}

func (w *walk) note(what string, reached bool) {
	if reached {
		w.seen[what]++
	}
}

// shortFact is what a log says of a fact.
func shortFact(fact Fact) string {
	switch f := fact.(type) {
	case Wanted:
		text := fmt.Sprintf(" %s cpu=%s", f.Pod.UID, cpuOf(f.Pod))
		if f.Pod.DeletionTimestamp != nil {
			text += " deleted"
		}
		return text
	case Published:
		cpu, _ := allocatedIn(&f.Status)
		return fmt.Sprintf(" %s %s %d", f.UID, f.Status.Phase, cpu)
	case ResizeAsked:
		return fmt.Sprintf(" %s cpu=%s", f.Pod.UID, cpuOf(f.Pod))
	case Looked:
		return fmt.Sprintf(" %s there=%t mirror=%t", f.UID, len(f.Has.Sandboxes) > 0, f.Mirror != nil)
	case Recalled:
		return fmt.Sprintf(" %s %t", f.UID, f.Remembered != nil)
	case Opened:
		text := fmt.Sprintf(" rebooted=%t", f.Rebooted)
		for _, r := range f.Remembered {
			text += fmt.Sprintf(" remembered=%s(ends=%t)", r.Pod.UID, r.Checkpoint.Deleted)
		}
		for _, found := range f.Found {
			text += fmt.Sprintf(" found=%s", found.UID)
		}
		return text
	case Allocated:
		if f.Refusal != nil {
			return fmt.Sprintf(" %s refused: %s", f.UID, f.Refusal.Reason)
		}
		return fmt.Sprintf(" %s given=%v", f.UID, f.Given)
	case Resumed:
		return fmt.Sprintf(" %s %s", f.UID, f.Status.Phase)
	case NodeKnown, Woke:
		return ""
	case NotResumed:
		return " " + string(f.UID)
	case NodeRead:
		return fmt.Sprintf(" %s %t", f.UID, f.Node != nil)
	}
	return fmt.Sprintf(" %v", fact)
}

// positionOf is a pod's position; Over for one that is not known.
func (m *Machine) positionOf(uid types.UID) Position {
	if p := m.pods[uid]; p != nil {
		return p.position
	}
	return Over
}
