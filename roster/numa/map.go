package numa

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/utils/cpuset"
)

// place is where a CPU is.
type place struct{ node, socket, uncore, core int }

// level is a kind of group of CPUs, such as the cores.
type level func(place) int

func node(p place) int   { return p.node }
func socket(p place) int { return p.socket }
func uncore(p place) int { return p.uncore }
func core(p place) int   { return p.core }

// places are those of some CPUs, by their IDs.
type places map[int]place

func placesOf(l Layout) places {
	all := places{}
	for _, n := range l.Nodes {
		for _, c := range n.CPUs {
			all[c.ID] = place{node: n.ID, socket: c.Socket, uncore: c.UncoreCache, core: c.Core}
		}
	}
	return all
}

// cpus are all of them.
func (p places) cpus() cpuset.CPUSet {
	return cpuset.New(slices.Collect(maps.Keys(p))...)
}

// in lists those in the groups with some IDs.
func (p places) in(of level, ids ...int) cpuset.CPUSet {
	var found []int
	for id, at := range p {
		if slices.Contains(ids, of(at)) {
			found = append(found, id)
		}
	}
	return cpuset.New(found...)
}

// groups are the IDs of a level's groups that have any of the CPUs.
func (p places) groups(of level) cpuset.CPUSet {
	var ids []int
	for _, at := range p {
		ids = append(ids, of(at))
	}
	return cpuset.New(ids...)
}

// only are those of a set.
func (p places) only(set cpuset.CPUSet) places {
	kept := places{}
	for id, at := range p {
		if set.Contains(id) {
			kept[id] = at
		}
	}
	return kept
}

// order lists the groups of the last level: those of the emptiest group of the level above
// first, and there the emptiest first; of equally empty ones the lowest ID.
func (p places) order(levels ...level) []int {
	last := levels[len(levels)-1]
	if len(levels) == 1 {
		return p.emptiestFirst(last, p.groups(last))
	}
	var ids []int
	above := levels[len(levels)-2]
	for _, id := range p.order(levels[:len(levels)-1]...) {
		ids = append(ids, p.emptiestFirst(last, p.only(p.in(above, id)).groups(last))...)
	}
	return ids
}

func (p places) emptiestFirst(of level, groups cpuset.CPUSet) []int {
	size := map[int]int{}
	for _, at := range p {
		size[of(at)]++
	}
	return slices.SortedFunc(slices.Values(groups.UnsortedList()), func(a, b int) int {
		return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b))
	})
}

// cpuMachine is all CPUs, with how many there are of each kind of group.
type cpuMachine struct {
	places
	nodes, sockets, uncores, cores int
}

func machineOf(l Layout) cpuMachine {
	m := cpuMachine{places: placesOf(l)}
	m.nodes, m.sockets = m.groups(node).Size(), m.groups(socket).Size()
	m.uncores, m.cores = m.groups(uncore).Size(), m.groups(core).Size()
	return m
}

// perCore is how many CPUs share a core.
func (m cpuMachine) perCore() int { return len(m.places) / max(m.cores, 1) }

// perSocket is how many CPUs a socket has.
func (m cpuMachine) perSocket() int { return len(m.places) / max(m.sockets, 1) }

// perUncore is how many CPUs share an uncore cache.
func (m cpuMachine) perUncore() int { return len(m.places) / max(m.uncores, 1) }
