package lifecycle

import "slices"

// planStarts starts what may be started now. Containers of one pod are created
// and started one at a time, in order (A-ACT-10); their images come in parallel
// (A-ACT-11).
func planStarts(s *step) {
	s.holds = ""
	if s.lacks() != "" || s.restartAll.Active {
		return
	}
	if i := slices.IndexFunc(s.ordered(), (*container).startUnderWay); i >= 0 {
		s.holds = s.ordered()[i].spec.Name
		return
	}
	if !s.due(s.restartAll.NotBefore) {
		return
	}
	advanceInit(s)
	for _, c := range s.startOrder() {
		if tryStart(s, c) {
			s.holds = c.spec.Name
			return
		}
	}
}

// lacks is the first thing that the pod lacks before any of its containers can start; empty: nothing.
func (m *Machine) lacks() WaitFor {
	switch {
	case !m.setup.cgroup.done && m.sandbox.State == sandboxNone:
		return WaitCgroup
	case !m.setup.volumes.done:
		return WaitVolumes
	case m.sandbox.State == sandboxNone && !m.claimsReady():
		return WaitClaims
	case m.sandbox.State != sandboxReady:
		return WaitSandbox
	}
	return ""
}

func (c *container) startUnderWay() bool {
	return c.Position == creating || c.Position == starting || c.Position == uncertain
}

// startOrder lists the containers that may run now, in the order of their
// starts: sidecars whose turn has come, then the init container whose turn it
// is; once all init containers are through, the regular ones (A-INIT-2..5).
func (m *Machine) startOrder() []*container {
	inits := m.inits()
	var order []*container
	for i := range min(m.kept.InitTurn, len(inits)) {
		if inits[i].kind == sidecarContainer {
			order = append(order, inits[i])
		}
	}
	if m.kept.InitTurn < len(inits) {
		return append(order, inits[m.kept.InitTurn])
	}
	if order == nil {
		return m.regulars()
	}
	return append(order, m.regulars()...)
}

// tryStart takes the next step to start one container. It reports whether the containers
// after it must wait.
func tryStart(s *step, c *container) bool {
	switch {
	case c.postStartPending():
		return c.PreviousID == "" // only the first start keeps the others waiting for its hook (A-ACT-10, A-ACT-11)
	case c.Position == running || c.final() || !s.due(c.RetryAt):
		return false
	case s.atBarrier(c):
		return false
	case c.Position == created:
		startCreated(s, c)
		return true
	case c.Position == exited && !s.due(s.crashDue(c)):
		return false
	}
	if !ensureImages(s, c) {
		if refused := refusedImage(s, c); refused != nil {
			s.unsaid = s.unsaid || !c.Failure.showsAs(refused)
			c.Failure = refused
			return false
		}
		return c.Exit == nil // only the first start keeps the others waiting for a pull
	}
	if s.makesRoom() {
		return true
	}
	create(s, c)
	return true
}

func create(s *step, c *container) {
	c.Position, c.op, c.touchedAt = creating, s.nextID(), s.now
	c.Actuated = s.allocatedTo(c)
	c.Outdated = false
	s.do(CreateContainer{
		ID: c.op, Container: c.spec.Name, Attempt: c.nextAttempt(),
		SandboxID: s.sandbox.ID, Image: c.Image.Info, PodIPs: slices.Clone(s.podIPs()), Volumes: volumeImages(s, c), TargetID: targetID(s, c),
	})
}

// nextAttempt is the restart count of the next instance (A-CST-11).
func (c *container) nextAttempt() uint32 {
	if c.Exit != nil {
		return uint32(c.RestartCount) + 1
	}
	return uint32(c.RestartCount)
}

func startCreated(s *step, c *container) {
	c.Position, c.op, c.touchedAt = starting, s.nextID(), s.now
	s.do(StartContainer{ID: c.op, Container: c.spec.Name, ContainerID: c.ID})
}

func (s *step) containerOf(op EffectID, at position) *container {
	for _, c := range s.containers {
		if c.op == op && c.Position == at {
			return c
		}
	}
	return nil
}

func (f ContainerCreated) apply(s *step) {
	c := s.containerOf(f.ID, creating)
	if c == nil {
		return
	}
	c.op, c.touchedAt = 0, s.now
	if f.Failure != nil {
		createFailed(s, c, f.Result)
		return
	}
	newInstance(s, c, f.ContainerID)
	c.Position = created
	s.do(RecordEvent{Type: normal, Reason: "Created", Message: "Container created", FieldPath: c.fieldPath()})
}

// newInstance makes the instance that now exists the container's newest. The previous one
// becomes lastState (A-CST-5); older records are removed (B-GC-2).
func newInstance(s *step, c *container, id string) {
	if c.Exit != nil {
		if !c.Requested && !(c.tuning.afterSuccess && c.succeeded(c.Exit)) {
			advanceCrash(s, c)
		}
		c.RestartCount++
		exitIsLast(s, c)
	}
	if c.PreviousID != "" && c.ID != "" && !c.removal.previous.done {
		attempt := uint32(c.RestartCount - 2) // the new one is restartCount, the one that has just ended is kept
		s.do(RemoveContainer{ID: s.nextID(), Container: c.spec.Name, ContainerID: c.PreviousID, Attempt: attempt})
	}
	if c.ID != "" {
		c.PreviousID, c.removal = c.ID, removal{previous: c.removal.newest}
	}
	c.instance = instance{ID: id, underWay: underWay{touchedAt: s.now}, reportedState: reportedState{ImageRef: c.Image.Info.Ref}}
	c.Image = image{Info: c.Image.Info} // the next start asks anew (A-IMG-2)
}

// exitIsLast makes the newest instance's exit lastState. One that never ran takes nothing from what is
// shown until the next one has ended.
func exitIsLast(s *step, c *container) {
	if !c.neverRan() || !keepsEnd(s, c) {
		c.Last, c.LastDone = c.Exit, c.done()
	}
}

// createFailed files a failed create: it is shown as the waiting reason (A-CST-6) and
// tried again later (A-SYNC-9).
func createFailed(s *step, c *container, r Result) {
	f := r.Failure
	if f.Class == Uncertain {
		c.Position = uncertain
		startUnanswered(s, c, f, "CreateContainerError")
		return
	}
	dropInstance(s, c)
	c.RetryAt = s.retryOf(r.ID, f)
	c.Image.RetryAt = c.RetryAt
	if f.Class != Cancelled && s.kept.Stage == Syncing {
		startRefused(s, c, f, "CreateContainerError")
		tellBlocked(s, c.notStarted(), f, c.RetryAt)
	}
}

// startRefused records why a start attempt failed, with the failure's own reason if it
// has one (A-CST-7, A-EVT-3).
func startRefused(s *step, c *container, f *Failure, reason string) {
	if f.Reason != "" {
		reason = f.Reason
	}
	c.Failure = &Failure{Class: f.Class, Reason: reason, Message: f.Message}
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: " + f.Message, FieldPath: c.fieldPath()})
}

// notStarted reports the failure of a start.
func (c *container) notStarted() Report {
	return Report{Subject: c.spec.Name, Kind: KindStartFailed, Reason: c.Failure.Reason, Message: c.Failure.Message, Rule: "A-CST-7"}
}

// startUnanswered records that a create or start ended without an answer, as any that failed. If it worked after all, its
// container runs soon and nothing of it is shown any more.
func startUnanswered(s *step, c *container, f *Failure, reason string) {
	if s.kept.Stage != Syncing {
		return
	}
	startRefused(s, c, f, reason)
	tellUnanswered(s, c.notStarted())
}

// dropInstance sets a container back to before an instance that does not exist, or no
// longer does. Its image is asked for again, as it may be gone too (A-IMG-2).
func dropInstance(s *step, c *container) {
	c.Image = image{Info: c.Image.Info}
	askImagesAnew(s, c)
	if c.Exit != nil {
		c.Position, c.touchedAt = exited, s.now
		return
	}
	c.instance = instance{underWay: underWay{touchedAt: s.now}}
}

func (f ContainerStarted) apply(s *step) {
	c := s.containerOf(f.ID, starting)
	if c == nil {
		return
	}
	c.op, c.touchedAt = 0, s.now
	if f.Failure == nil {
		c.hear(f.Reported)
		nowRunning(s, c)
		if f.Reported != nil && !f.Reported.StartedAt.IsZero() {
			c.begins(s, f.Reported.StartedAt)
		}
		return
	}
	// it may run after all, or be kept as exited with StartError (A-CST-9): ask;
	// if it is still only created, it is started again later (A-SYNC-9)
	c.Position = uncertain
	c.RetryAt = s.now.Add(s.retryAfter(f.Failure))
	switch {
	case f.Failure.Class == Uncertain:
		startUnanswered(s, c, f.Failure, "RunContainerError")
	case f.Failure.Class != Cancelled && s.kept.Stage == Syncing:
		startRefused(s, c, f.Failure, "RunContainerError")
		report := c.notStarted()
		report.Again = true
		tell(s, report)
	}
}

func nowRunning(s *step, c *container) {
	c.Position, c.touchedAt = running, s.now
	c.begins(s, s.wall)
	c.Failure = nil
	s.do(RecordEvent{Type: normal, Reason: "Started", Message: "Container started", FieldPath: c.fieldPath()})
	report := Report{Subject: c.spec.Name, Kind: KindStarted, Outcome: c.awaits(), Rule: "A-ACT-10"}
	if c.RestartCount > 0 {
		report.Because = Because{Kind: becauseRestart, Nth: c.RestartCount}
	}
	tell(s, report)
	targetRuns(s, c)
}

func (f ContainerRunning) apply(s *step) {
	c := s.containerWithID(f.ContainerID)
	if c == nil || c.Exit != nil || (c.Position != running && c.Position != starting && c.Position != uncertain) {
		return
	}
	startedAt, reported := c.StartedAt, c.reportedState
	if c.Position != running {
		c.op = 0
		nowRunning(s, c)
	}
	if !f.StartedAt.IsZero() {
		c.begins(s, f.StartedAt)
	}
	c.hear(&f)
	s.known = c.StartedAt.Equal(startedAt) && c.reportedState == reported
}

// hear takes over what the runtime reports about an instance besides its state (A-CST-4);
// nil if nothing.
func (i *reportedState) hear(f *ContainerRunning) {
	if f == nil {
		return
	}
	if f.Image != "" {
		i.ImageName = f.Image
	}
	if f.ImageRef != "" {
		i.ImageRef = f.ImageRef
	}
	if i.Reported == nil {
		i.Reported = f.Resources.DeepCopy()
	}
	if f.User != nil && !sameBehind(f.User, i.User) {
		i.User = f.User.DeepCopy()
	}
}
