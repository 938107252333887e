package lifecycle

// SpaceNeeded says that the node needs space on its disk: what the pod can spare of its
// dead containers goes (B-GC-1).
type SpaceNeeded struct{}

// apply gives up what the pod can spare of its dead containers and their logs
// (B-GC-1). While the pod lives, these are the exited instances: how they ended is part of
// the state, and so are restart counts (B-GC-8). A restart of all containers removes its
// instances anyway. Of a pod that has ended, everything goes.
func (SpaceNeeded) apply(s *step) {
	because := Because{Kind: "the-node-needs-space"}
	switch {
	case s.kept.Stage == Terminated && s.keepsRecords() && !s.clears():
		s.release.cleared = true
		tell(s, Report{Subject: ofPod, Kind: "gives-up-its-dead-containers-and-logs", Because: because, Rule: "B-GC-1"})
	case s.kept.Stage == Syncing && !s.restartAll.Active:
		for _, c := range s.containers {
			if spareInstances(s, c) {
				tell(s, Report{Subject: c.spec.Name, Kind: "gives-up-dead-containers-and-their-logs", Because: because, Rule: "B-GC-1"})
			}
		}
	}
}

// spareInstances removes the exited instances of a container. One that can't be removed
// stays until space is needed again (B-GC-3).
func spareInstances(s *step, c *container) (any bool) {
	spare := func(w *work, id string, restarts int32) {
		if op, ok := s.begin(w); ok {
			s.do(RemoveContainer{ID: op, Container: c.spec.Name, ContainerID: id, Attempt: uint32(max(restarts, 0))})
			any = true
		}
	}
	if c.PreviousID != "" {
		spare(&c.removal.previous, c.PreviousID, c.RestartCount-1)
	}
	if c.Position == exited && c.ID != "" {
		spare(&c.removal.newest, c.ID, c.RestartCount)
	}
	return any
}

// keepsFiles says that the containers and logs of a pod that keeps its records stay.
func (m *Machine) keepsFiles() bool { return m.keepsRecords() && !m.clears() }

// clears says that the containers and logs of a pod that has ended are removed although
// its object stays: because the node needed space, or because the pod was evicted or
// preempted (B-GC-1). After a shutdown of the node they stay.
func (m *Machine) clears() bool {
	evicted := m.stop.Cause == Evicted && (m.stop.Reason == "Evicted" || m.stop.Reason == "Preempting")
	return m.release.cleared || evicted
}
