package roster

import (
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/roster/admit"
)

// fataler is what tests and rapid checks have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// stepLaws holds a machine against what is true of it after every step.
func stepLaws(t fataler, m *Machine) {
	t.Helper()
	if len(m.books.order) != len(m.pods) || !slices.IsSortedFunc(m.books.order, earlier) {
		t.Fatalf("%d pods are in order, sorted: %t, of %d (A-SYNC-1)", len(m.books.order), slices.IsSortedFunc(m.books.order, earlier), len(m.pods))
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

// booksLaws: the books say what a look at all pods says. It takes as long as all other laws.
func booksLaws(t fataler, m *Machine) {
	t.Helper()
	count(m)
	held, b := admit.Amounts{}, &m.books
	for uid, p := range m.pods {
		if p.holds() {
			held.Add(admit.Held(p.allocated()))
		}
		if idle := !p.begun() && p.position != Over; b.idle[uid] != idle {
			t.Fatalf("%s is %s, and has not begun: %t", uid, p.position, b.idle[uid])
		}
		if b.asking[uid] != (p.resize.deferred != nil) {
			t.Fatalf("a resize of %s waits: %t", uid, b.asking[uid])
		}
		if !b.until[uid].Equal(p.until) {
			t.Fatalf("%s waits until %s, not %s", uid, clockText(b.until[uid]), clockText(p.until))
		}
		if !p.gaveBack && !p.mayNeedAllocation(m.wasFound(p)) && m.asksAllocation(p) {
			t.Fatalf("%s does not give back what it was given by name (A-DEV-9)", uid)
		}
	}
	if !maps.Equal(held, b.held) {
		t.Fatalf("held by all pods (-want +got):\n%s", cmp.Diff(held, b.held))
	}
	if len(b.entries) != len(m.pods) || len(b.open) > 0 || len(b.stale) > 0 {
		t.Fatalf("%d entries of %d pods; %d open, %d stale", len(b.entries), len(m.pods), len(b.open), len(b.stale))
	}
}

// wokenInTime: what was due when the machine was woken was acted on.
func wokenInTime(t fataler, m *Machine, now time.Time) {
	t.Helper()
	if !m.wakeAt.IsZero() && !m.wakeAt.After(now) {
		t.Fatalf("woken at %s the machine asks to be woken at %s", clockText(now), clockText(m.wakeAt))
	}
}
