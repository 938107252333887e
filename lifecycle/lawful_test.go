package lifecycle

import "slices"

// lawful checks one step against the laws that hold for every pair of state and fact.
func lawful(t fataler, was, m *Machine, effects []Effect) {
	if m.kept.Stage < was.kept.Stage {
		t.Fatalf("stage goes back from %v to %v", was.kept.Stage, m.kept.Stage)
	}
	if !was.kept.StartTime.IsZero() && !m.kept.StartTime.Equal(was.kept.StartTime) {
		t.Fatalf("startTime changes (A-STAT-7)")
	}
	if Terminal(was.kept.Reported.Phase) && m.kept.Reported.Phase != was.kept.Reported.Phase {
		t.Fatalf("terminal phase %s becomes %s (B-FIN-2)", was.kept.Reported.Phase, m.kept.Reported.Phase)
	}
	for i, c := range m.containers[:len(was.containers)] {
		if old := was.containers[i]; c.RestartCount < old.RestartCount || c.RestartCount > old.RestartCount+1 {
			t.Fatalf("%s: restartCount goes from %d to %d", c.spec.Name, old.RestartCount, c.RestartCount)
		}
	}
	lastID := was.kept.LastID
	for _, e := range effects {
		if _, cancel := e.(Cancel); cancel || e.EffectID() == 0 {
			continue
		}
		if id := e.EffectID(); id != lastID+1 {
			t.Fatalf("%T has ID %d after %d", e, id, lastID)
		}
		lastID++
	}
	onceOnly(t, was, m, effects)
	waitsAreLawful(t, m)
}

// onceOnly: what is begun is not under way yet, and only in Syncing.
func onceOnly(t fataler, was, m *Machine, effects []Effect) {
	var begun []string
	for _, e := range effects {
		key := effectName(e)
		switch e := e.(type) {
		case CreateContainer:
			key = e.Container
		case StartContainer:
			key = e.Container
		case CreateSandbox, EnsureCgroup, MountVolumes, PrepareClaims:
		default:
			continue
		}
		if slices.Contains(begun, key) {
			t.Fatalf("%s is begun twice in one step", key)
		}
		begun = append(begun, key)
		if m.kept.Stage != Syncing {
			t.Fatalf("%T in stage %v (B-WRK-4)", e, m.kept.Stage)
		}
	}
	for i, c := range m.containers[:len(was.containers)] {
		old := was.containers[i]
		if old.op != 0 && c.op != 0 && old.op != c.op && old.Position == c.Position {
			t.Fatalf("%s: a second call while the first (%d) is under way", c.spec.Name, old.op)
		}
	}
	if a, b := was.sandbox, m.sandbox; a.op != 0 && b.op != 0 && a.op != b.op && a.State == b.State {
		t.Fatalf("a second sandbox call while the first is under way")
	}
}
