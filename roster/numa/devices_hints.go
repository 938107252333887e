package numa

import (
	"maps"
	"slices"
)

// Hints says on which NUMA nodes of a machine so many of some devices could be (A-NUMA-16);
// reusable are those that have to be among them; nil: on any, the devices are near to none.
func (r DeviceResource) Hints(machine []int, from, reusable DeviceIDs, count int) []Hint {
	if !r.aligned() {
		return nil
	}
	hints := []Hint{}
	if from.Union(reusable).Len() < count {
		return hints
	}
	nodes := r.nodes(machine)
	fewest := len(nodes)
	Combinations(nodes, func(set Mask) {
		if r.near(set, slices.Collect(maps.Keys(r))) >= count {
			fewest = min(fewest, set.Count())
		}
		must := r.withNodes(reusable)
		if r.near(set, must) == len(must) && len(must)+r.near(set, from.UnsortedList()) >= count {
			hints = append(hints, Hint{Nodes: set})
		}
	})
	for i := range hints {
		hints[i].Preferred = hints[i].Nodes.Count() == fewest
	}
	return hints
}

// nodes are those of the machine that devices are near to; all if there is none of them.
func (r DeviceResource) nodes(machine []int) []int {
	near := slices.DeleteFunc(slices.Clone(machine), func(node int) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(r)), func(d Device) bool { return slices.Contains(d.Nodes, int64(node)) })
	})
	if len(near) == 0 {
		return machine
	}
	return near
}

// near counts the devices that are near to one of some nodes.
func (r DeviceResource) near(set Mask, ids []string) (n int) {
	for _, id := range ids {
		if slices.ContainsFunc(r[id].Nodes, func(node int64) bool { return set.Has(int(node)) }) {
			n++
		}
	}
	return n
}

// withNodes are those devices that are near to any node.
func (r DeviceResource) withNodes(ids DeviceIDs) []string {
	return slices.DeleteFunc(ids.UnsortedList(), func(id string) bool { return len(r[id].Nodes) == 0 })
}
