package roster

import (
	"slices"
	"time"
)

// fataler is what tests and rapid checks have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stepLaws holds a machine against what is true of it after every step.
func stepLaws(t fataler, m *Machine) {
	t.Helper()
	if len(m.order) != len(m.pods) || !slices.IsSortedFunc(m.order, earlier) {
		t.Fatalf("%d pods are in order, sorted: %t, of %d (A-SYNC-1)", len(m.order), slices.IsSortedFunc(m.order, earlier), len(m.pods))
	}
	for uid, p := range m.pods {
		if p.uid != uid || p.newest.UID != uid {
			t.Fatalf("pod %s is filed as %s", p.newest.UID, uid)
		}
		if p.position == Waiting && p.reason == "" {
			t.Fatalf("%s waits for nothing", uid)
		}
		if p.position == Waiting && p.reason == ForVictims && p.wanted && p.until.IsZero() {
			t.Fatalf("%s waits for its victims for ever (B-WRK-13)", uid)
		}
		if !p.until.IsZero() && (m.wakeAt.IsZero() || m.wakeAt.After(p.until)) {
			t.Fatalf("%s waits until %s, and the machine is woken at %s", uid, clockText(p.until), clockText(m.wakeAt))
		}
		if p.position == Over && !p.wanted && m.allHeard() {
			t.Fatalf("%s is over, nobody wants it, and it is not dropped (B-WRK-16)", uid)
		}
	}
}

// wokenInTime: what was due when the machine was woken was acted on.
func wokenInTime(t fataler, m *Machine, now time.Time) {
	t.Helper()
	if !m.wakeAt.IsZero() && !m.wakeAt.After(now) {
		t.Fatalf("woken at %s the machine asks to be woken at %s", clockText(now), clockText(m.wakeAt))
	}
}
