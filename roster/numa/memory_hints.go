package numa

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Hints says on which NUMA nodes the memory of a container could be (A-NUMA-12).
func (s *StaticMemory) Hints(pod *v1.Pod, container *v1.Container) Hints {
	if !keeps(pod) {
		return nil
	}
	wants, err := containerMemory(container)
	if err != nil {
		return nil
	}
	if blocks := s.state.Given[string(pod.UID)][container.Name]; blocks != nil {
		return hintsForGiven(blocks, wants)
	}
	return perResource(s.hints(wants), wants)
}

// PodHints is Hints for all containers of a pod together.
func (s *StaticMemory) PodHints(pod *v1.Pod) Hints {
	if !keeps(pod) {
		return nil
	}
	wants, err := podMemory(pod)
	if err != nil || len(wants) == 0 {
		return nil
	}
	for _, c := range lifecycle.Containers(pod) {
		if blocks := s.state.Given[string(pod.UID)][c.Name]; blocks != nil {
			return hintsForGiven(blocks, wants)
		}
	}
	return perResource(s.hints(wants), wants)
}

// hintsForGiven are those of memory that was given before; nil if it is not what is
// requested now.
func hintsForGiven(blocks []Block, wants amounts) Hints {
	if len(blocks) != len(wants) {
		return nil
	}
	hints := Hints{}
	for _, b := range blocks {
		nodes, err := MaskOf(b.NUMAAffinity...)
		if size, wanted := wants[b.Type]; err != nil || !wanted || size != b.Size {
			return nil
		}
		hints[string(b.Type)] = append(hints[string(b.Type)], Hint{Nodes: nodes, Preferred: true})
	}
	return hints
}

// perResource says the same of each resource; nothing if there is no hint, which leaves
// the refusal to Allocate.
func perResource(list []Hint, wants amounts) Hints {
	hints := Hints{}
	if len(list) == 0 {
		return hints
	}
	for name := range wants {
		hints[string(name)] = slices.Clone(list)
	}
	return hints
}

// hints are all sets of NUMA nodes with enough of everything. Preferred are those of as few
// nodes as the machine would need if it was empty.
func (s *StaticMemory) hints(wants amounts) []Hint {
	nodes := slices.Sorted(maps.Keys(s.state.Nodes))
	fewest := len(nodes)
	var hints []Hint
	Combinations(nodes, func(set Mask) {
		free, allocatable := s.state.totals(set, wants)
		if !covers(allocatable, wants) {
			return
		}
		fewest = min(fewest, set.Count())
		if s.state.splits(set) {
			return
		}
		for name := range wants {
			free[name] += s.reusable[set][name]
		}
		if covers(free, wants) {
			hints = append(hints, Hint{Nodes: set})
		}
	})
	for i := range hints {
		hints[i].Preferred = hints[i].Nodes.Count() == fewest
	}
	return hints
}

// totals are what some nodes have together of what is wanted.
func (s MemoryState) totals(set Mask, wants amounts) (free, allocatable amounts) {
	free, allocatable = amounts{}, amounts{}
	for _, id := range set.Nodes() {
		for name := range wants {
			t := s.table(id, name)
			free[name] += t.Free
			allocatable[name] += t.Allocatable
		}
	}
	return free, allocatable
}

func covers(has, wants amounts) bool {
	for name, size := range wants {
		if has[name] < size {
			return false
		}
	}
	return true
}

// splits says whether memory of just these nodes would split a group: a node has either
// memory of its own or is in one group (A-NUMA-12).
func (s MemoryState) splits(set Mask) bool {
	nodes := set.Nodes()
	if len(nodes) == 1 {
		return len(s.Nodes[nodes[0]].Cells) > 1
	}
	return s.mixes(nodes)
}

// mixes says whether one of several nodes is used alone, or in another group.
func (s MemoryState) mixes(nodes []int) bool {
	return slices.ContainsFunc(nodes, func(id int) bool {
		n := s.Nodes[id]
		return n.NumberOfAssignments > 0 && (len(n.Cells) == 1 || !sameNodes(n.Cells, nodes))
	})
}
