package numa

import (
	"maps"
	"math"
	"slices"

	"k8s.io/utils/cpuset"
)

// takeDistributed takes equally many CPUs from each of several NUMA nodes, if one alone
// doesn't have enough (A-NUMA-6). They are taken one by one, or a whole core at a time.
func takeDistributed(m cpuMachine, available cpuset.CPUSet, count int, o CPUOptions) (cpuset.CPUSet, error) {
	group := 1
	if o.WholeCores {
		group = m.perCore()
	}
	o.ByUncoreCache = false
	if count%group != 0 {
		return takePacked(m, available, count, o)
	}
	t, err := newTaking(m, available, count, o.AcrossCores)
	if err != nil || t.done() {
		return cpuset.New(), err
	}
	d := distribution{free: map[int]int{}, count: count, group: group}
	if o.AlignBySocket {
		d.oneSocket = func(nodes []int) bool { return m.only(m.in(node, nodes...)).groups(socket).Size() == 1 }
	}
	nodes := t.nodes()
	for _, id := range nodes {
		d.free[id] = t.free.in(node, id).Size()
	}
	least, most := t.nodesNeeded(group)
	for size := least; size <= most; size++ {
		split := d.best(nodes, size)
		if split == nil {
			continue
		}
		t.takeSplit(*split, d, o)
		if t.needs != 0 {
			return cpuset.New(), errAccounting
		}
		return t.taken, nil
	}
	return takePacked(m, available, count, o)
}

// takeSplit takes the same number of CPUs from each node, and what is left a group at a time.
func (t *taking) takeSplit(s split, d distribution, o CPUOptions) {
	for _, id := range s.nodes {
		t.takeFrom(id, s.each, o)
	}
	for before := t.needs + 1; t.needs > 0 && t.needs < before; {
		before = t.needs
		for _, id := range s.more {
			if t.needs > 0 && t.free.in(node, id).Size() >= d.group {
				t.takeFrom(id, d.group, o)
			}
		}
	}
}

// takeFrom takes CPUs of one NUMA node.
func (t *taking) takeFrom(id, count int, o CPUOptions) {
	if set, err := takePacked(t.machine, t.free.in(node, id), count, o); err == nil {
		t.take(set)
	}
}

// nodesNeeded is how many NUMA nodes there have to be at least, and can be at most.
func (t *taking) nodesNeeded(group int) (least, most int) {
	up := func(n, by int) int { return (n-1)/by + 1 }
	groups := up(t.needs, group)
	perNode := up(up(len(t.machine.places), group), t.machine.nodes)
	return up(groups, perNode), min(groups, t.free.groups(node).Size())
}

// distribution looks for NUMA nodes over which CPUs can be distributed.
type distribution struct {
	free         map[int]int // CPUs of each NUMA node
	count, group int
	// oneSocket says whether NUMA nodes are of one socket, which goes before all else; nil: it does not matter.
	oneSocket func(nodes []int) bool
}

// split is a choice of NUMA nodes; those of more get a group of CPUs more.
type split struct {
	nodes, more []int
	each        int     // how many CPUs every one of nodes gives
	imbalance   float64 // of what is left free on the machine's nodes
	oneSocket   bool
}

// each is how many CPUs every one of some nodes gives. With sockets that go before all else it is not more than the one has that has the
// fewest: others make up for it.
func (d distribution) each(chosen []int) int {
	each := d.count / len(chosen)
	if d.oneSocket != nil {
		for _, id := range chosen {
			each = min(each, d.free[id])
		}
	}
	return each / d.group * d.group
}

// best is the split over some of the nodes that leaves them most alike; nil if none is
// possible.
func (d distribution) best(nodes []int, size int) *split {
	var best *split
	combinations(nodes, size, func(chosen []int) bool {
		if s := d.split(chosen); s != nil && (best == nil || s.betterThan(best)) {
			best = s
		}
		return best == nil || best.imbalance != 0 || d.oneSocket != nil && !best.oneSocket
	})
	return best
}

func (s *split) betterThan(other *split) bool {
	if s.oneSocket != other.oneSocket {
		return s.oneSocket
	}
	return s.imbalance < other.imbalance
}

// split is the one over exactly these nodes; nil if it is not possible.
func (d distribution) split(chosen []int) *split {
	each, all, groups := d.each(chosen), 0, 0
	oneSocket := d.oneSocket != nil && d.oneSocket(chosen)
	after := maps.Clone(d.free)
	for _, id := range chosen {
		if d.free[id] < each {
			return nil
		}
		all += d.free[id]
		groups += d.free[id] / d.group
		after[id] -= each
	}
	if all < d.count || groups*d.group < d.count {
		return nil
	}
	left := d.count - each*len(chosen)
	if left == 0 {
		return &split{nodes: chosen, each: each, imbalance: deviation(after), oneSocket: oneSocket}
	}
	var can []int
	for _, id := range chosen {
		if after[id] >= d.group {
			can = append(can, id)
		}
	}
	var best *split
	for size := len(can); size >= 1; size-- {
		combinations(can, size, func(more []int) bool {
			if rest := d.remainder(after, more, left); rest != nil {
				if imbalance := deviation(rest); best == nil || imbalance < best.imbalance {
					best = &split{nodes: chosen, more: more, each: each, imbalance: imbalance, oneSocket: oneSocket}
				}
			}
			return true
		})
	}
	return best
}

// remainder takes what is left to be given from some nodes, a group from each in turn; nil
// if they don't have enough.
func (d distribution) remainder(after map[int]int, from []int, left int) map[int]int {
	rest, has := maps.Clone(after), 0
	for _, id := range from {
		has += rest[id] / d.group * d.group
	}
	if has < left {
		return nil
	}
	for left > 0 {
		for _, id := range from {
			if left > 0 && rest[id] >= d.group {
				rest[id] -= d.group
				left -= d.group
			}
		}
	}
	return rest
}

// deviation is the standard deviation, rounded to thousandths, by which splits that
// differ by nothing else are told apart as by the kubelet.
func deviation(values map[int]int) float64 {
	sum := 0
	for _, v := range values {
		sum += v
	}
	mean := thousandths(float64(sum) / float64(len(values)))
	var squares float64
	for _, id := range slices.Sorted(maps.Keys(values)) {
		squares += (float64(values[id]) - mean) * (float64(values[id]) - mean)
	}
	return thousandths(math.Sqrt(squares / float64(len(values))))
}

func thousandths(f float64) float64 { return math.Round(f*1000) / 1000 }

// combinations visits all choices of size IDs, in their order, until visit says to stop.
func combinations(ids []int, size int, visit func([]int) bool) {
	var choose func(from int, chosen []int) bool
	choose = func(from int, chosen []int) bool {
		if len(chosen) == size {
			return visit(slices.Clone(chosen))
		}
		for i := from; i <= len(ids)-(size-len(chosen)); i++ {
			if !choose(i+1, append(chosen, ids[i])) {
				return false
			}
		}
		return true
	}
	choose(0, nil)
}
