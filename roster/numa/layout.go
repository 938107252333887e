package numa

import (
	"slices"

	"k8s.io/utils/cpuset"
)

// Layout is where CPUs and memory of a machine are.
type Layout struct {
	// Nodes are the NUMA nodes, by their IDs; a machine without NUMA has one.
	Nodes []Node
}

// Node is a NUMA node.
type Node struct {
	ID          int
	MemoryBytes uint64
	HugePages   []HugePages
	// Distances are those to each node of the machine, in the order of their IDs; nil if
	// the machine doesn't say.
	Distances []uint64
	CPUs      []CPU
}

// HugePages are those of one size on a node.
type HugePages struct {
	PageBytes, Count uint64
}

// CPU is a logical CPU. IDs are those of the whole machine.
type CPU struct {
	ID int
	// Core is the lowest ID of the CPUs that share its core.
	Core int
	// Socket is the physical package.
	Socket int
	// UncoreCache is the last-level cache that it shares with a part of its node; on
	// machines that have none, its socket.
	UncoreCache int
}

// NodeIDs lists the nodes, the lowest first.
func (l Layout) NodeIDs() []int {
	ids := make([]int, 0, len(l.Nodes))
	for _, n := range l.Nodes {
		ids = append(ids, n.ID)
	}
	slices.Sort(ids)
	return ids
}

// distances are those from each node to each other, by their IDs.
type distances map[int]map[int]uint64

func distancesOf(l Layout) distances {
	ids, d := l.NodeIDs(), distances{}
	for _, n := range l.Nodes {
		d[n.ID] = map[int]uint64{}
		for i := range min(len(ids), len(n.Distances)) {
			d[n.ID][ids[i]] = n.Distances[i]
		}
	}
	return d
}

// sum adds up the distances between all pairs of nodes of a set, each node with itself
// included. Sets of equal size can be compared by it.
func (d distances) sum(set Mask) uint64 {
	var sum uint64
	for _, a := range set.Nodes() {
		for _, b := range set.Nodes() {
			sum += d[a][b]
		}
	}
	return sum
}

// CPUSet is the set of all CPUs.
func (l Layout) CPUSet() cpuset.CPUSet {
	var ids []int
	for _, n := range l.Nodes {
		for _, c := range n.CPUs {
			ids = append(ids, c.ID)
		}
	}
	return cpuset.New(ids...)
}

// takeUncores takes CPUs from as few uncore caches as possible: whole ones, then a part of
// one that has enough (A-NUMA-5).
func (t *taking) takeUncores() {
	for _, id := range t.uncores() {
		if t.needs >= t.machine.perUncore() {
			t.takeWholeLevel(uncore, t.uncores())
		}
		if t.done() {
			return
		}
		t.takePart(id)
		if t.done() {
			return
		}
	}
}

// takePart takes the missing CPUs from one uncore cache, if all of them can be had there.
func (t *taking) takePart(id int) {
	perCore := max(t.machine.perCore(), 1)
	cores := t.free.only(t.free.in(uncore, id)).groups(core).List()
	cores = cores[:min(len(cores), (t.needs+perCore-1)/perCore)]
	if len(cores) == 0 {
		return
	}
	found := t.free.in(core, cores...).List()
	if t.needs%2 != 0 && perCore > 1 && len(found) > t.needs { // of the last core, one CPU is enough
		found = found[:len(found)-1]
	}
	if len(found) == t.needs {
		t.take(cpuset.New(found...))
	}
}
