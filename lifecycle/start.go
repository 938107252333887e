package lifecycle

import "slices"

// planStarts starts what may be started now. Containers of one pod are created
// and started one at a time, in order (A-ACT-10); their images come in parallel
// (A-ACT-11).
func planStarts(s *step) {
	if s.sandbox.state != sandboxReady || !s.setup.volumes.done || startUnderWay(s) || s.round.active {
		return
	}
	if !s.due(s.round.notBefore) {
		return
	}
	advanceInit(s)
	for _, c := range startOrder(s) {
		if tryStart(s, c) {
			return
		}
	}
}

// startUnderWay says that some container is between its creation and its start.
func startUnderWay(s *step) bool {
	return slices.ContainsFunc(s.ordered(), (*container).startUnderWay)
}

func (c *container) startUnderWay() bool {
	return c.position == creating || c.position == starting || c.position == uncertain
}

// startOrder lists the containers that may run now, in the order of their
// starts: sidecars whose turn has come, then the init container whose turn it
// is; once all init containers are through, the regular ones (A-INIT-2..5).
func startOrder(s *step) []*container {
	inits := s.inits()
	var order []*container
	for i := range min(s.initIndex, len(inits)) {
		if inits[i].kind == sidecarContainer {
			order = append(order, inits[i])
		}
	}
	if s.initIndex < len(inits) {
		return append(order, inits[s.initIndex])
	}
	return append(order, s.regulars()...)
}

// tryStart brings one container a step nearer to running. It reports true when
// the containers after it have to wait.
func tryStart(s *step, c *container) bool {
	switch {
	case c.postStartPending():
		return c.previousID == "" // only the first start keeps the others waiting for its hook (A-ACT-10, A-ACT-11)
	case c.position == running || c.final() || !s.due(c.retryAt):
		return false
	case c.position == created:
		startCreated(s, c)
		return true
	case c.position == exited && !s.due(crashDue(s, c)):
		return false
	}
	if !ensureImages(s, c) {
		if refused := refusedImage(s, c); refused != nil {
			s.unsaid = s.unsaid || !c.failure.showsAs(refused)
			c.failure = refused
			return false
		}
		return c.exit == nil // only the first start keeps the others waiting for a pull
	}
	create(s, c)
	return true
}

func create(s *step, c *container) {
	c.position, c.op, c.touchedAt = creating, s.nextID(), s.now
	c.actuated = *c.spec.Resources.DeepCopy()
	c.outdated = false
	s.do(CreateContainer{
		ID: c.op, Container: c.spec.Name, Attempt: c.nextAttempt(),
		SandboxID: s.sandbox.id, Image: c.image.info, PodIPs: slices.Clone(s.podIPs()), Volumes: volumeImages(s, c), TargetID: targetID(s, c),
	})
}

// nextAttempt is the restart count of the next instance (A-CST-11).
func (c *container) nextAttempt() uint32 {
	if c.exit != nil {
		return uint32(c.restartCount) + 1
	}
	return uint32(c.restartCount)
}

func startCreated(s *step, c *container) {
	c.position, c.op, c.touchedAt = starting, s.nextID(), s.now
	s.do(StartContainer{ID: c.op, Container: c.spec.Name, ContainerID: c.id})
}

func (s *step) containerOf(op EffectID, at position) *container {
	for _, c := range s.containers {
		if op != 0 && c.op == op && c.position == at {
			return c
		}
	}
	return nil
}

func applyContainerCreated(s *step, f ContainerCreated) {
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
	c.position = created
	s.do(RecordEvent{Type: normal, Reason: "Created", Message: "Container created", FieldPath: c.fieldPath()})
}

// newInstance makes the instance that exists now the container's newest; the
// one before becomes lastState (A-CST-5), records older than that go (B-GC-2).
func newInstance(s *step, c *container, id string) {
	if c.exit != nil {
		if !c.requested && !(c.tuning.afterSuccess && c.succeeded(c.exit)) {
			advanceCrash(s, c)
		}
		c.restartCount++
		c.last, c.lastDone = c.exit, c.done()
	}
	if c.previousID != "" && c.id != "" {
		attempt := uint32(c.restartCount - 2) // the new one is restartCount, the one that has just ended is kept
		s.do(RemoveContainer{ID: s.nextID(), Container: c.spec.Name, ContainerID: c.previousID, Attempt: attempt})
	}
	if c.id != "" {
		c.previousID = c.id
	}
	c.instance = instance{id: id, touchedAt: s.now, reportedState: reportedState{imageRef: c.image.info.Ref}}
	c.image = image{info: c.image.info} // the next start asks anew (A-IMG-2)
}

// createFailed files a create that did not work: shown as the waiting reason
// (A-CST-6), tried again later (A-SYNC-9).
func createFailed(s *step, c *container, r Result) {
	f := r.Failure
	if f.Class == Uncertain {
		c.position = uncertain
		return
	}
	dropInstance(s, c)
	c.retryAt = s.retryOf(r.ID, f)
	c.image.retryAt = c.retryAt
	if f.Class != Cancelled && s.stage == Syncing {
		startRefused(s, c, f, "CreateContainerError")
		tellBlocked(s, c.spec.Name, f, c.failure.Reason+": "+f.Message, c.retryAt, "A-CST-7")
	}
}

// startRefused records why a start attempt failed, under the failure's own
// reason where it has one (A-CST-7, A-EVT-3).
func startRefused(s *step, c *container, f *Failure, reason string) {
	if f.Reason != "" {
		reason = f.Reason
	}
	c.failure = &Failure{Class: f.Class, Reason: reason, Message: f.Message}
	s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: " + f.Message, FieldPath: c.fieldPath()})
}

// dropInstance puts a container back to where it was before an instance that
// does not exist (any more). Its image is asked for anew: it may be gone too (A-IMG-2).
func dropInstance(s *step, c *container) {
	c.image = image{info: c.image.info}
	askImagesAnew(s, c)
	if c.exit != nil {
		c.position, c.op, c.touchedAt = exited, 0, s.now
		return
	}
	c.instance = instance{touchedAt: s.now}
}

func applyContainerStarted(s *step, f ContainerStarted) {
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
	c.position = uncertain
	c.retryAt = s.now.Add(s.retryAfter(f.Failure))
	if f.Failure.Class == Failed && s.stage == Syncing {
		startRefused(s, c, f.Failure, "RunContainerError")
		tell(s, Report{Subject: c.spec.Name, What: c.failure.Reason + ": " + f.Failure.Message, Rule: "A-CST-7", Again: true})
	}
}

func nowRunning(s *step, c *container) {
	c.position, c.touchedAt = running, s.now
	c.begins(s, s.wall)
	c.failure = nil
	s.do(RecordEvent{Type: normal, Reason: "Started", Message: "Container started", FieldPath: c.fieldPath()})
	report := Report{Subject: c.spec.Name, What: "started", Outcome: c.awaits(), Rule: "A-ACT-10"}
	if c.restartCount > 0 {
		report.Because = ordinal(c.restartCount) + " restart"
	}
	tell(s, report)
	targetRuns(s, c)
}

func applyContainerRunning(s *step, f ContainerRunning) {
	c := s.containerWithID(f.ContainerID)
	if c == nil || c.exit != nil || (c.position != running && c.position != starting && c.position != uncertain) {
		return
	}
	if c.position != running {
		c.op = 0
		nowRunning(s, c)
	}
	if !f.StartedAt.IsZero() {
		c.begins(s, f.StartedAt)
	}
	c.hear(&f)
}

// hear takes what the runtime says of an instance beside its state (A-CST-4); nil
// says nothing.
func (i *reportedState) hear(f *ContainerRunning) {
	if f == nil {
		return
	}
	if f.Image != "" {
		i.imageName = f.Image
	}
	if f.ImageRef != "" {
		i.imageRef = f.ImageRef
	}
	if i.reported == nil {
		i.reported = f.Resources.DeepCopy()
	}
	if f.User != nil {
		i.user = f.User.DeepCopy()
	}
}
