package lifecycle

import "fmt"

// changesSpec lets a user change the pod that runs.
func (w *walk) changesSpec() {
	w.addsEphemeral()
}

// addsEphemeral adds one of a few ephemeral containers, perhaps one that is there already.
func (w *walk) addsEphemeral() {
	name, target := fmt.Sprintf("e%d", w.draw(3, "ephemeral")), ""
	if w.draw(2, "has target") == 1 {
		target = w.pod.Spec.Containers[w.draw(len(w.pod.Spec.Containers), "target")].Name
	}
	w.feed(EphemeralContainerAdded{Container: namedEphemeral(name, target)})
}

// ephemeralOnce: an ephemeral container that ran is never made again (A-RST-2).
func (l *invariants) ephemeralOnce(w *walk) {
	for _, c := range w.m.ephemerals() {
		name := c.spec.Name
		if l.ranOnce[name] != "" && l.ranOnce[name] != c.id {
			l.t.Fatalf("ephemeral container %s ran as %s and is made again", name, l.ranOnce[name])
		}
		if c.position == running || c.position == exited {
			l.ranOnce[name] = c.id
		}
		if c.op != 0 && c.exit != nil || c.restart.restart {
			l.t.Fatalf("ephemeral container %s is restarted", name)
		}
	}
}
