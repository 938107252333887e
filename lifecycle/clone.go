package lifecycle

import "maps"

// Clone returns an independent copy, for a simulator that tries several futures. It
// copies the back-offs of images; what other pointers, slices and maps of the state lead
// to, such as the pod, is replaced, never changed.
func (m *Machine) Clone() *Machine { return m.CloneInto(&Machine{}) }

// CloneInto is Clone in the memory of c, which nobody uses any more.
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
