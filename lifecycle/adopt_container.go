package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// adoptFromStatus sets a container to the position of its newest instance or, if the
// runtime has none, to what the status shows.
func adoptFromStatus(s *step, c *container, seen Observed) {
	status := containerStatusOf(&s.kept.Reported, c)
	c.Actuated = s.allocatedTo(c)
	c.RestartCount, c.ImageName, c.ImageRef = status.RestartCount, status.Image, status.ImageID
	c.User = status.User.DeepCopy()
	c.Last = status.LastTerminationState.Terminated.DeepCopy()
	instances := instancesOf(c, status, seen)
	if len(instances) == 0 {
		adoptWithoutInstance(s, c, status, seen)
		return
	}
	newest := instances[0]
	c.ID = newest.ID
	c.begins(s, newest.StartedAt)
	c.hear(newest.Reported)
	c.RestartCount = max(c.RestartCount, int32(newest.Attempt))
	adoptLast(s, c, status, instances)
	c.Position = uncertain // until the next snapshot
	switch ended := status.State.Terminated; {
	case newest.State == StateRunning:
		c.Position = running
		c.adoptVerdicts(status)
	case ended != nil && endedID(status) == newest.ID:
		adoptExit(s, c, newest.ID, ended.DeepCopy())
	}
	if c.Position != running && newest.SandboxID != s.sandbox.ID {
		adoptFromOldSandbox(s, c, newest)
	}
}

// instancesOf returns the runtime's instances of a container, the newest first. It
// returns none if the newest has exited and is older than the status's restart count:
// that instance ended with its sandbox or in a restart of all containers, and only its
// record is left. An ephemeral container has one instance: any other was made too late, by a call
// of an agent before.
func instancesOf(c *container, status v1.ContainerStatus, seen Observed) []ObservedContainer {
	once := c.kind == ephemeralContainer && status.ContainerID != ""
	instances := slices.DeleteFunc(slices.Clone(seen.Containers), func(o ObservedContainer) bool {
		return o.Name != c.spec.Name || once && o.ID != idWithoutScheme(status.ContainerID)
	})
	slices.SortFunc(instances, func(a, b ObservedContainer) int { return int(b.Attempt) - int(a.Attempt) })
	if len(instances) > 0 && instances[0].State != StateRunning && int32(instances[0].Attempt) < status.RestartCount && instances[0].ID != idWithoutScheme(status.ContainerID) {
		return nil
	}
	return instances
}

// adoptLast sets lastState, the end of the instance before the newest. If the status does
// not know the newest instance yet, its state has that end (A-CST-5). If the status has
// only an older end, or none, as for a static pod, the runtime's record counts (B-RST-4).
func adoptLast(s *step, c *container, status v1.ContainerStatus, instances []ObservedContainer) {
	newest := instances[0]
	if ended := status.State.Terminated; ended != nil && endedID(status) != newest.ID {
		c.setLast(s, ended)
	}
	if len(instances) == 1 {
		return
	}
	before := instances[1]
	c.PreviousID = before.ID
	if before.Exit != nil && !c.mayHaveLast(s, before) {
		c.setLast(s, terminatedBy(s, *before.Exit))
	}
}

// mayHaveLast says whether lastState belongs to that instance or names none, or stays that of one before it, because the
// start of this one was cut off (exitIsLast).
func (c *container) mayHaveLast(s *step, before ObservedContainer) bool {
	return c.Last != nil && (c.Last.ContainerID == "" || idWithoutScheme(c.Last.ContainerID) == before.ID ||
		c.kind == initContainer && before.Exit.Reason == reasonStartError && c.completes(s, c.Last))
}

func (c *container) setLast(s *step, t *v1.ContainerStateTerminated) {
	c.Last = t.DeepCopy()
	c.LastDone = c.completes(s, t)
}

// completes says whether an instance of c that ends so has done what it was for.
func (c *container) completes(s *step, t *v1.ContainerStateTerminated) bool {
	return c.succeeded(t) || decideRestart(s, c, t).Complete
}

// endedID is the ID of the instance whose end the status shows. While an init container
// runs again in a new sandbox, that is still the previous instance (A-STAT-6).
func endedID(status v1.ContainerStatus) string {
	if id := status.State.Terminated.ContainerID; id != "" {
		return idWithoutScheme(id)
	}
	return idWithoutScheme(status.ContainerID)
}

// adoptFromOldSandbox handles a container whose newest instance is not in the pod's
// newest sandbox: init containers run again, and an instance that was created but never
// started is created again (A-ACT-3).
func adoptFromOldSandbox(s *step, c *container, newest ObservedContainer) {
	switch {
	case c.Exit != nil:
	case newest.State == StateExited:
		adoptExit(s, c, newest.ID, terminatedBy(s, *newest.Exit))
	case newest.State == StateCreated:
		c.Position = created
	}
	forgetRecord(s, c)
}

// adoptVerdicts keeps started and ready as they were (B-RST-6, B-RST-8). A postStart hook
// never runs twice.
func (c *container) adoptVerdicts(status v1.ContainerStatus) {
	c.PostStart = hookRun{Ended: true}
	if idWithoutScheme(status.ContainerID) != c.ID {
		return // the status is of another instance
	}
	if status.Started != nil && *status.Started {
		c.Probes[StartupProbe].Verdict = probeSucceeded
	}
	if status.Ready {
		c.Probes[ReadinessProbe].Verdict = probeSucceeded
	}
}

// adoptWithoutInstance handles a container of which the runtime has no record. If it was
// running, it is lost (B-RST-4); if it had ended, it stays ended. An init container
// before one that has run has completed (B-RST-5).
func adoptWithoutInstance(s *step, c *container, status v1.ContainerStatus, seen Observed) {
	ended, ranAfter := status.State.Terminated, c.kind == initContainer && ranAfter(s, c, seen)
	counted := status.ContainerID == "" // the status shows the end of the previous instance
	again := c.kind == initContainer && !ranAfter && !Terminal(s.kept.Reported.Phase) &&
		(counted || s.sandbox.Attempt > 0 && s.sandbox.State == sandboxReady)
	switch {
	case ended != nil && again: // all init containers run again in a new sandbox (A-ACT-3)
		c.setLast(s, ended)
		if !counted {
			c.RestartCount++
		}
	case ended != nil:
		adoptExit(s, c, status.ContainerID, ended.DeepCopy())
	case ranAfter:
		adoptExit(s, c, status.ContainerID, &v1.ContainerStateTerminated{
			Reason:  "Completed",
			Message: "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
		})
	case status.State.Running != nil:
		c.Position, c.ID, c.PostStart = running, idWithoutScheme(status.ContainerID), hookRun{Ended: true} // it is lost
	}
}

func adoptExit(s *step, c *container, id string, t *v1.ContainerStateTerminated) {
	c.Position, c.ID, c.Exit = exited, idWithoutScheme(id), t
	c.EndedAt = s.own(t.FinishedAt.Time)
	c.Verdict = decideRestart(s, c, t)
}
