package lifecycle

import (
	"slices"
	"time"
)

// plan looks at the whole state and says what to do next. It is level-driven: calling it
// twice does nothing twice, because work under way is part of the state.
func plan(s *step) {
	if s.kept.StartTime.IsZero() {
		return // not accepted yet
	}
	if s.unseen {
		observe(s)
		return
	}
	if s.kept.Stage == Syncing {
		planSync(s)
	}
	if s.kept.Stage == Terminating {
		planTermination(s)
	}
	if s.kept.Stage == Terminated {
		planRelease(s)
	}
	planProbes(s)
	planObserve(s)
}

// planSync plans for a pod that lives. Each plan sees what those before it have changed,
// hence the order:
//
//   - What ends the pod comes first (its deadline, a rule that terminates it), then what
//     restarts all of it, its group before its own exits: nothing is begun for a pod that ends.
//   - A pod with nothing left to do completes before a new sandbox is planned for it, and
//     again after the loss of a sandbox has ended its containers.
//   - Images, cgroup, volumes and resource claims need no sandbox and are begun at once; the
//     sandbox needs the cgroup, the resource claims, and the groups that volumes name.
//   - A resize changes what the next instances get, and a changed image ends the instance
//     of the old one: both before kills and starts.
//   - Kills come before hooks and starts, so that nobody waits for what must end; a
//     postStart hook that has ended may open the turn of the next container.
//   - Ephemeral containers wait for nobody's turn. Volumes are refreshed, and storage is
//     measured, beside all that.
func planSync(s *step) {
	planDeadline(s)
	planTerminatePod(s)
	planGroup(s)
	planRestartAll(s)
	planCompletion(s)
	planUnknownSandbox(s)
	planCompletion(s) // if nothing must start in another sandbox
	if s.kept.Stage != Syncing {
		return
	}
	planImages(s)
	planSetup(s)
	planSandbox(s)
	planResize(s)
	planOutdated(s)
	planKills(s)
	planPostStart(s)
	planStarts(s)
	planEphemerals(s)
	planRefresh(s)
	planStorage(s)
}

// planDeadline ends the pod when activeDeadlineSeconds have passed since its
// start (B-CTL-9), to the moment.
func planDeadline(s *step) {
	if s.pod.Spec.ActiveDeadlineSeconds == nil {
		return
	}
	limit := time.Duration(*s.pod.Spec.ActiveDeadlineSeconds) * time.Second
	if !s.due(s.own(s.kept.StartTime.Add(limit))) {
		return
	}
	const reason, message = "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
	s.do(RecordEvent{Type: normal, Reason: reason, Message: message})
	terminate(s, stop{Cause: DeadlineExceeded, Reason: reason, Message: message}, s.specGrace(),
		Report{Kind: KindDeadlineExceeded, Span: limit, Rule: "B-CTL-9"})
}

// planCompletion ends a pod that has nothing left to do: an init container failed for
// good, or every regular container has exited for good (A-ACT-13, A-INIT-3).
func planCompletion(s *step) {
	if s.kept.Stage != Syncing || s.restartAll.Active {
		return
	}
	if c := failedInit(s); c != nil {
		terminate(s, stop{Cause: InitFailed}, s.specGrace(),
			Report{Kind: KindEnds, Because: Because{Kind: "init-failed", Text: c.spec.Name}, Rule: "A-PHASE-5"})
		return
	}
	for _, c := range s.regulars() {
		if !c.final() {
			return
		}
	}
	terminate(s, stop{Cause: Completed}, s.specGrace(),
		Report{Kind: KindEnds, Because: Because{Kind: "all-its-containers-have-ended"}, Rule: "A-ACT-13"})
}

// planSetup makes the cgroup and the volumes, and has the claims prepared, side by side.
func planSetup(s *step) {
	if id, ok := s.begin(&s.setup.cgroup); ok {
		s.do(EnsureCgroup{ID: id, Room: s.resize.unsettled()})
	}
	if id, ok := s.begin(&s.setup.volumes); ok {
		s.do(MountVolumes{ID: id})
	}
	planClaims(s)
}

// planObserve keeps asking for a snapshot while anything is uncertain. The exit of a stopped container is likely to be told
// a moment after the answer to its stop.
func planObserve(s *step) {
	if s.sandbox.State == sandboxUncertain || slices.ContainsFunc(s.containers, s.looksUp) {
		observe(s)
	}
}

// exitPatience is how long the exit of a container that the runtime calls stopped may take to be reported.
const exitPatience = 100 * time.Millisecond

// looksUp says whether a container needs a snapshot now.
func (s *step) looksUp(c *container) bool {
	return c.Position == uncertain || c.stopping.position == stopDoubted ||
		c.stopping.position == stopReturned && s.due(c.touchedAt.Add(exitPatience))
}

func observe(s *step) {
	s.observing.done = false
	if id, ok := s.begin(&s.observing); ok {
		s.do(Observe{ID: id})
	}
}

// uncertainSince says whether anything waits for a snapshot, and since when the latest
// has waited.
func (m *Machine) uncertainSince() (since time.Time, any bool) {
	if m.sandbox.State == sandboxUncertain {
		since, any = m.sandbox.touchedAt, true
	}
	for _, c := range m.containers {
		if c.Position == uncertain || c.stopping.waitsForSnapshot() {
			since, any = later(since, c.touchedAt), true
		}
	}
	return since, any
}
