package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// tally counts what the phase depends on (A-PHASE-1..3).
type tally struct {
	pendingInit, failedInit        int
	pendingSidecar                 int
	waiting, running               int
	stopped, succeeded, finalExits int
}

// decidePhase derives the phase from the containers (A-PHASE-5). reportPhase then decides
// whether it is shown.
func decidePhase(s *step) v1.PodPhase {
	switch s.stop.Cause {
	case DeadlineExceeded, RuleDemanded: // A-PHASE-8
		return v1.PodFailed
	case Unattachable: // A-SYNC-8
		return v1.PodFailed
	case Evicted: // who ends a pod says how it ended, not its exit codes (B-WRK-12)
		return v1.PodFailed
	}
	phase := count(s).phase(s)
	if s.kept.Stage >= Terminated && !Terminal(phase) {
		return v1.PodFailed // B-FIN-8
	}
	return phase
}

func (t tally) phase(s *step) v1.PodPhase {
	switch {
	case t.failedInit > 0:
		return v1.PodFailed
	case t.pendingInit > 0, t.pendingSidecar > 0 && !anyRegularInstance(s), t.waiting > 0:
		return v1.PodPending
	case t.running > 0:
		return v1.PodRunning
	case t.stopped > 0:
		return t.endedPhase(s)
	}
	return v1.PodPending
}

// endedPhase is the phase when nothing runs and something has stopped (A-PHASE-5(f)).
func (t tally) endedPhase(s *step) v1.PodPhase {
	if s.kept.Stage < Terminated && t.stopped != t.finalExits {
		return v1.PodRunning
	}
	if t.stopped == t.succeeded {
		return v1.PodSucceeded
	}
	return v1.PodFailed
}

func count(s *step) tally {
	var t tally
	for _, c := range s.inits() {
		if c.kind == sidecarContainer {
			t.addSidecar(c, initializesAgain(s))
		} else {
			t.addInit(c, initsBegan(s))
		}
	}
	for i, c := range s.regulars() {
		t.addRegular(c, &s.viewed(len(s.inits())+i).state)
	}
	return t
}

// addInit counts a regular init container (A-PHASE-1). One that failed and restarts does
// not count: the waiting regular containers keep the pod Pending. After a restart of all
// containers the pod stays Pending from the start of the first init container to the end
// of the last (B-RAC-14).
func (t *tally) addInit(c *container, began bool) {
	switch {
	case c.Exit == nil && c.Last != nil && !began: // counts as restartable (A-PHASE-4)
	case c.Exit == nil:
		t.pendingInit++
	case !c.done() && !c.Verdict.Restart:
		t.failedInit++
	}
}

// addSidecar counts a sidecar (A-PHASE-2). One that has run before does not hold the pod
// back, except while the pod initializes again after a restart of all containers.
// Otherwise the pod would be Running for a moment between the last init container and a
// sidecar with a startup probe or postStart hook (B-RAC-14).
func (t *tally) addSidecar(c *container, again bool) {
	switch {
	case c.Position == running:
		t.running++
		if !c.started() {
			t.pendingSidecar++
		}
	case c.Exit == nil && c.Last == nil:
		t.waiting++
	case again:
		t.pendingSidecar++
	}
}

// addRegular counts a regular container by its reported state (A-PHASE-3).
func (t *tally) addRegular(c *container, shown *stateView) {
	switch {
	case shown.shows == shownRunning:
		t.running++
	case shown.shows >= shownEnd:
		t.stopped++
		if c.succeeded(shown.terminated()) {
			t.succeeded++
		}
		if !c.Verdict.Restart {
			t.finalExits++
		}
	case shown.last != nil:
		t.stopped++
	default:
		t.waiting++
	}
}

// initsBegan says that the newest instance of some init container runs or has run.
func initsBegan(s *step) bool { return slices.ContainsFunc(s.inits(), (*container).began) }

// began says that an instance runs or has run since the containers were last reset. One that
// is only created may never start, but the one that it follows has begun.
func (c *container) began() bool {
	return c.Position == running || c.Exit != nil || c.ID != "" && c.Failures > 0
}

// initializesAgain says that regular init containers have begun to run again
// and that a regular container is still to come.
func initializesAgain(s *step) bool {
	began := slices.ContainsFunc(s.inits(), func(c *container) bool { return c.kind == initContainer && c.began() })
	return began && slices.ContainsFunc(s.regulars(), func(c *container) bool { return c.Exit == nil && c.Last != nil })
}

func anyRegularInstance(s *step) bool {
	for _, c := range s.regulars() {
		if c.ID != "" {
			return true
		}
	}
	return false
}
