package lifecycle

import v1 "k8s.io/api/core/v1"

// hookRun is one run of a lifecycle hook; an instance has at most one of each kind.
type hookRun struct {
	Ended  bool     `json:"ended,omitzero"`
	Failed bool     `json:"failed,omitzero"`
	op     EffectID // 0: none under way; lost with the process that runs the hook
}

// planPostStart runs the postStart hook of each container that has started. The
// container's state and address are published meanwhile; it counts as started
// only when the hook has ended (A-HOOK-1, A-INIT-4).
func planPostStart(s *step) {
	for _, c := range s.containers {
		if !c.postStartPending() || c.PostStart.op != 0 || c.Ending {
			continue
		}
		c.PostStart.op = s.nextID()
		s.do(RunHook{ID: c.PostStart.op, Container: c.spec.Name, ContainerID: c.ID, Hook: PostStart, PodIP: s.podIP()})
	}
}

// postStartPending says that a running container's postStart hook has not ended.
func (c *container) postStartPending() bool {
	return c.Position == running && !c.PostStart.Ended && c.spec.Lifecycle != nil && c.spec.Lifecycle.PostStart != nil
}

// podIP is the pod's primary address, empty if it has none.
func (m *Machine) podIP() string {
	if ips := m.podIPs(); len(ips) > 0 {
		return ips[0]
	}
	return ""
}

// giveUpPostStart ends the hook of a container that is being stopped.
func giveUpPostStart(s *step, c *container) {
	if c.PostStart.op != 0 {
		s.do(Cancel{ID: c.PostStart.op})
	}
	c.PostStart = hookRun{Ended: true, Failed: c.PostStart.Failed || c.postStartPending()}
}

// beginPreStop runs the preStop hook, unless there is no grace (B-HOOK-1).
func beginPreStop(s *step, c *container, o order) {
	hook := preStopOf(c)
	if hook == nil || o.force || !s.now.Before(o.deadline) {
		c.stopping.preStop.Ended = true
		return
	}
	c.stopping.preStop.op = s.nextID()
	c.touchedAt = s.now
	s.do(RunHook{
		ID: c.stopping.preStop.op, Container: c.spec.Name, ContainerID: c.ID,
		Hook: PreStop, PodIP: s.podIP(), Deadline: s.onWall(o.deadline),
	})
}

func preStopOf(c *container) *v1.LifecycleHandler {
	if c.spec.Lifecycle == nil {
		return nil
	}
	return c.spec.Lifecycle.PreStop
}

// waitsForPreStop says whether the signal must wait for the hook: until the hook ends, at
// most until the deadline that both share (B-HOOK-2, B-HOOK-3).
func waitsForPreStop(s *step, c *container, o order) bool {
	p := &c.stopping.preStop
	if p.Ended {
		return false
	}
	if !o.force && !s.due(o.deadline) {
		return true
	}
	tell(s, Report{Subject: c.spec.Name, Kind: KindHookTimedOut, Outcome: thenStop, Rule: "B-HOOK-2"})
	if o.force {
		s.do(Cancel{ID: p.op})
	}
	*p = hookRun{Ended: true}
	return false
}

// endHooks gives up the hooks of a container that has exited (B-HOOK-6).
func endHooks(s *step, c *container) {
	if op := c.stopping.preStop.op; op != 0 {
		s.do(Cancel{ID: op})
	}
	giveUpPostStart(s, c)
}

func (f HookEnded) apply(s *step) {
	if f.ID == 0 {
		return
	}
	for _, c := range s.containers {
		switch {
		case c.PostStart.op == f.ID:
			c.PostStart = hookRun{Ended: true, Failed: f.Failure != nil}
			hookWarnings(s, c, f.Warnings)
			if f.Failure != nil {
				postStartFailed(s, c, f.Failure)
			}
			return
		case c.stopping.preStop.op == f.ID:
			c.stopping.preStop = hookRun{Ended: true}
			hookWarnings(s, c, f.Warnings)
			if f.Failure != nil {
				preStopFailed(s, c, f.Failure)
			}
			return
		}
	}
}

func hookWarnings(s *step, c *container, warnings []Warning) {
	for _, w := range warnings {
		s.do(RecordEvent{Type: warning, Reason: w.Reason, Message: w.Message, FieldPath: c.fieldPath()})
	}
}

// postStartFailed stops the container; its restart policy then decides on the exit. The
// event leaves out the details, the waiting reason has them (A-HOOK-1).
func postStartFailed(s *step, c *container, f *Failure) {
	s.do(RecordEvent{Type: warning, Reason: "FailedPostStartHook", Message: "PostStartHook failed", FieldPath: c.fieldPath()})
	killContainer(s, c, kill{
		Message:  "FailedPostStartHook",
		Deadline: s.now.Add(s.specGrace()),
		Failure:  &Failure{Reason: reasonPostStartError, Message: f.Message},
		report:   Report{Kind: KindHookFailed, On: "postStart", Message: f.Message, Outcome: thenStop, Rule: "A-HOOK-1"},
	})
}

// reasonPostStartError is the waiting reason of a container whose postStart hook has failed.
const reasonPostStartError = "PostStartHookError"

// preStopFailed records a failed hook; the container is stopped nevertheless (B-HOOK-4).
// A hook that ran out of time leaves no event.
func preStopFailed(s *step, c *container, f *Failure) {
	if f.Class == Cancelled || f.Class == Uncertain {
		return
	}
	s.do(RecordEvent{Type: warning, Reason: "FailedPreStopHook", Message: "PreStopHook failed", FieldPath: c.fieldPath()})
	tell(s, Report{Subject: c.spec.Name, Kind: KindHookFailed, On: "preStop", Message: f.Message, Outcome: thenStop, Rule: "B-HOOK-4"})
}
