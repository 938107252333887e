package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Restore makes the machine of a pod whose lifepod was killed, from the last checkpoint
// it wrote. The pod is the one that New was given, with the same UID. The first event
// must be Resumed.
//
// Every effect that was under way counts as unanswered. The machine looks for the result
// of a create or start, and repeats a stop with what is left of its deadline. A preStop
// hook that had begun does not run again; a postStart hook that had not ended does,
// because Kubernetes promises at least one run. What is idempotent is done again.
//
// The error says why the checkpoint can't be used: it is of a newer lifepod, of another
// pod, or damaged.
func Restore(pod *v1.Pod, options Options, c Checkpoint) (*Machine, error) {
	if err := c.readable(); err != nil {
		return nil, err
	}
	if c.UID != string(pod.UID) {
		return nil, fmt.Errorf("checkpoint of the pod with UID %q, not of %q", c.UID, pod.UID)
	}
	c, err := c.asWritten()
	if err != nil {
		return nil, err
	}
	pod = c.podNow(pod)
	c = c.withPodResources(pod.Spec.Resources)
	m := New(pod, options)
	if m.generation = pod.Generation; c.Spec != nil {
		m.generation = specIsAnother
	}
	if err := m.restoreContainers(c.Containers); err != nil {
		return nil, err
	}
	m.unseen, m.away = true, true
	m.kept, m.sandbox, m.stop, m.restartAll, m.group = c.kept, c.Sandbox, c.Stop, c.RestartAll, c.Group
	m.resize = m.resize.restored(c.Resize, m.pod)
	if m.kept.ImageBack == nil {
		m.kept.ImageBack = map[string]BackoffPlace{}
	}
	if len(m.kept.Reported.Conditions) > 0 { // others' conditions were last seen there (A-COND-7)
		own := *m.pod
		own.Status.Conditions = othersConditions(m.kept.Reported.Conditions)
		m.pod = &own
	}
	m.keepDevices()
	m.demote()
	return m, nil
}

// podNow is the pod with the changes of its spec since it was accepted.
func (c Checkpoint) podNow(pod *v1.Pod) *v1.Pod {
	if c.Spec == nil {
		return pod
	}
	changed := pod.DeepCopy()
	changed.Spec, changed.Generation = *c.Spec, c.Generation
	return changed
}

func (m *Machine) restoreContainers(list []container) error {
	if len(list) != len(m.containers) {
		return fmt.Errorf("checkpoint of %d containers, the pod has %d", len(list), len(m.containers))
	}
	for i, c := range m.containers {
		if list[i].Name != c.Name {
			return fmt.Errorf("checkpoint of container %q, the pod has %q in its place", list[i].Name, c.Name)
		}
		of := c.role
		*c = list[i]
		c.role = of
	}
	return nil
}

// demote sets back whatever waited for an answer that is lost.
func (m *Machine) demote() {
	syncing := m.kept.Stage == Syncing
	m.kept.Stage = min(m.kept.Stage, Terminated) // the steps into Gone are done and reported again
	m.kept.InitTurn = min(max(m.kept.InitTurn, 0), len(m.inits()))
	switch m.sandbox.State {
	case sandboxCreating:
		m.sandbox.State = sandboxUncertain
	case sandboxStopping:
		m.sandbox.State = sandboxLost
	}
	for _, c := range m.containers {
		c.CutOff = c.CutOff || c.Position == starting
		if c.Position == creating || c.Position == starting || c.Position == exited && c.NextBegun && syncing {
			c.Position = uncertain
		}
		c.stopping.preStop.Ended = c.Ending    // a hook that had begun is over: its process died with the call
		c.Since = cmp.Or(c.Since, c.StartedAt) // version 1 has none
	}
}

// restored takes over how far a resize had come, except allocations that do not fit the
// pod: they would only have been room in its cgroup.
func (r resize) restored(was resize, pod *v1.Pod) resize {
	was.Held = slices.DeleteFunc(was.Held, func(a Allocation) bool { return !a.fits(pod) })
	if len(was.Held) == 0 {
		was.Held = r.Held
	}
	if was.Desired != nil && !was.Desired.fits(pod) {
		was.Desired = nil
	}
	return was
}

// withPodResources gives what a checkpoint before version 3 says of resources those of the
// pod as a whole, which could not change then.
func (c Checkpoint) withPodResources(own *v1.ResourceRequirements) Checkpoint {
	if c.Version >= 3 {
		return c
	}
	of := func(a Allocation) Allocation { return Allocation{Pod: own.DeepCopy(), Containers: a.Containers} }
	if c.Resize.Desired != nil {
		desired := of(*c.Resize.Desired)
		c.Resize.Desired = &desired
	}
	c.Resize.Held, c.Containers = slices.Clone(c.Resize.Held), slices.Clone(c.Containers)
	for i, a := range c.Resize.Held {
		c.Resize.Held[i] = of(a)
	}
	for i := range c.Containers {
		c.Containers[i].Actuated = WithLimitsOf(c.Containers[i].Actuated, own)
	}
	return c
}

// CloneInto returns an independent copy in the memory of c, which nobody uses any more, for a
// simulator that tries several futures. It copies the back-offs of images; what other pointers,
// slices and maps of the state lead to, such as the pod, is replaced, never changed.
func (m *Machine) CloneInto(c *Machine) *Machine {
	containers, volumes, shown := c.containers, c.imageVolumes, c.derived.containers
	*c = *m
	c.kept.ImageBack = maps.Clone(m.kept.ImageBack)
	c.containers, c.imageVolumes = copied(m.containers, containers), copied(m.imageVolumes, volumes)
	c.derived.containers = shown[:0] // they are changed in place, and derived anew
	return c
}

// copied are copies of what a list leads to, in the memory of another list.
func copied[T any](list, memory []*T) []*T {
	if len(memory) < len(list) {
		all := make([]T, len(list))
		memory = make([]*T, len(list))
		for i := range all {
			memory[i] = &all[i]
		}
	}
	memory = memory[:len(list)]
	for i, old := range list {
		*memory[i] = *old
	}
	return memory
}
