package numa

import (
	"fmt"
	"math/bits"
)

// Mask is a set of NUMA nodes, by their IDs.
type Mask uint64

// MaxNode is the highest ID that a Mask can hold.
const MaxNode = 63

// MaskOf returns the set of some nodes; an ID above MaxNode is an error.
func MaskOf(nodes ...int) (Mask, error) {
	var m Mask
	for _, node := range nodes {
		if node < 0 || node > MaxNode {
			return 0, fmt.Errorf("NUMA node %d: should be between 0 and %d", node, MaxNode)
		}
		m |= 1 << node
	}
	return m, nil
}

// Has says whether a node is in the set.
func (m Mask) Has(node int) bool { return node >= 0 && node <= MaxNode && m&(1<<node) != 0 }

// Count is the number of nodes in the set.
func (m Mask) Count() int { return bits.OnesCount64(uint64(m)) }

// Nodes lists the nodes, the lowest ID first.
func (m Mask) Nodes() []int {
	nodes := make([]int, 0, m.Count())
	for rest := uint64(m); rest != 0; rest &= rest - 1 {
		nodes = append(nodes, bits.TrailingZeros64(rest))
	}
	return nodes
}

// NarrowerThan says whether m has fewer nodes than other; of equally many, whether the
// highest node in which they differ is other's.
func (m Mask) NarrowerThan(other Mask) bool {
	if m.Count() != other.Count() {
		return m.Count() < other.Count()
	}
	return m < other
}

// Combinations calls visit with every set of at least one of the nodes: the smaller ones
// first, and of equally large ones in the order of the nodes.
func Combinations(nodes []int, visit func(Mask)) {
	var choose func(from int, chosen Mask, left int)
	choose = func(from int, chosen Mask, left int) {
		if left == 0 {
			visit(chosen)
			return
		}
		for i := from; i <= len(nodes)-left; i++ {
			choose(i+1, chosen|1<<nodes[i], left-1)
		}
	}
	for size := 1; size <= len(nodes); size++ {
		choose(0, 0, size)
	}
}
