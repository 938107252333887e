package lifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// instances are all that one container has had; a walk checks its restart count against
// them.
type instances struct {
	newest string
	all    int32 // that the machine has known as the newest
	ran    int32 // of them, those that ran
	counts bool  // the newest ran
}

// initsInOrder: an init container starts after those before it, a regular
// container after all of them (A-INIT-3).
func (l *invariants) initsInOrder(w *walk, e CreateContainer) {
	if w.m.containerNamed(e.Container).kind == ephemeralContainer {
		return // outside the order (A-ACT-5)
	}
	for _, c := range w.m.ordered() {
		if c.spec.Name == e.Container {
			if c.kind != regularContainer {
				return
			}
			continue
		}
		if c.kind == initContainer && !c.done() {
			l.t.Fatalf("%s is created before init container %s has completed (%v)", e.Container, c.spec.Name, c.Position)
		}
	}
}

// countsInstances: the restart count is the number of instances before the
// newest; one that never ran need not count (A-CST-11, B-RAC-11).
func (l *invariants) countsInstances(m *Machine) {
	for _, c := range m.ordered() {
		seen := l.instances[c.spec.Name]
		if seen == nil {
			seen = &instances{}
			l.instances[c.spec.Name] = seen
		}
		if c.ID != "" && c.ID != seen.newest {
			seen.newest, seen.counts = c.ID, false
			seen.all++
		}
		if !seen.counts && c.ID != "" && (c.Position == running || c.Exit != nil) {
			seen.counts = true
			seen.ran++
		}
		if c.RestartCount > seen.all || c.RestartCount < seen.ran-1 {
			l.t.Fatalf("%s: restartCount %d after %d instances, of which %d ran", c.spec.Name, c.RestartCount, seen.all, seen.ran)
		}
	}
}

// restartAllKeeps: a restart of all containers touches neither sandbox nor volumes nor
// cgroup (B-RAC-8); only the loss of the sandbox does.
func (l *invariants) restartAllKeeps(w *walk, was *Machine, effects []Effect) {
	if !was.restartAll.Active || was.kept.Stage != Syncing || w.m.kept.Stage != Syncing || was.sandbox.State != sandboxReady || w.m.sandbox.State != sandboxReady {
		return
	}
	if was.sandbox.ID != w.m.sandbox.ID {
		l.t.Fatalf("the sandbox changes from %s to %s in a restart of all", was.sandbox.ID, w.m.sandbox.ID)
	}
	for _, e := range effects {
		switch e := e.(type) {
		case UnmountVolumes, RemoveCgroup, StopSandbox, CreateSandbox:
			l.t.Fatalf("%T in a restart of all", e)
		case RemoveSandbox:
			if e.SandboxID == w.m.sandbox.ID {
				l.t.Fatalf("the sandbox is removed in a restart of all")
			}
		}
	}
}

// waitingSaysWhy: every waiting container names what it waits for.
func (l *invariants) waitingSaysWhy(s v1.PodStatus) {
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for _, c := range list {
			if c.State.Waiting != nil && c.State.Waiting.Reason == "" {
				l.t.Fatalf("%s waits without a reason", c.Name)
			}
			if c.State.Waiting == nil && c.State.Running == nil && c.State.Terminated == nil {
				l.t.Fatalf("%s has no state", c.Name)
			}
		}
	}
}

// soonGone: if everything works, a pod that must end is gone when its grace is over and
// what had failed before was retried.
func (l *invariants) soonGone(w *walk, asked time.Time) {
	latest := later(asked, w.m.stopDeadline()).Add(2 * time.Minute)
	if w.now.After(latest) {
		l.t.Fatalf("the pod was gone %v after its deadline", w.now.Sub(w.m.stopDeadline()))
	}
}

// stopDeadline is when the grace of a terminating pod ends; zero before.
func (m *Machine) stopDeadline() time.Time {
	if m.kept.Stage == Syncing {
		return time.Time{} // only the containers of a lost sandbox may be stopping
	}
	return m.onWall(m.stop.Deadline)
}
