package numa

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
)

// Hint is a set of NUMA nodes from which a request could be answered.
type Hint struct {
	// Nodes is the set; empty if any will do.
	Nodes Mask
	// Preferred: no smaller set would do on this machine.
	Preferred bool
}

// Hints are those for each resource of a request. A resource without an entry, or with a
// nil one, may come from anywhere; an empty entry says that it can't be had.
type Hints map[string][]Hint

// flatten lists what each resource of each provider allows.
func flatten(all []Hints) [][]Hint {
	var lists [][]Hint
	for _, hints := range all {
		if len(hints) == 0 {
			lists = append(lists, []Hint{{Preferred: true}})
			continue
		}
		for _, resource := range slices.Sorted(maps.Keys(hints)) {
			switch list := hints[resource]; {
			case list == nil:
				lists = append(lists, []Hint{{Preferred: true}})
			case len(list) == 0:
				lists = append(lists, []Hint{{}})
			default:
				lists = append(lists, list)
			}
		}
	}
	return lists
}

// onOneNode keeps the preferred hints that name at most one node.
func onOneNode(lists [][]Hint) [][]Hint {
	kept := make([][]Hint, 0, len(lists))
	for _, list := range lists {
		kept = append(kept, slices.DeleteFunc(slices.Clone(list), func(h Hint) bool {
			return !h.Preferred || h.Nodes.Count() > 1
		}))
	}
	return kept
}

// widestNeed is the number of nodes that the most demanding resource takes at least.
func widestNeed(lists [][]Hint) int {
	widest := 0
	for _, list := range lists {
		narrowest := 0
		for _, h := range list {
			if count := h.Nodes.Count(); count > 0 && (narrowest == 0 || count < narrowest) {
				narrowest = count
			}
		}
		widest = max(widest, narrowest)
	}
	return widest
}

// Figures are how many CPUs there are for whom (A-NUMA-19).
type Figures struct {
	Shared int         // that containers could still have for themselves; reserved ones are left out
	Given  int         // that containers have for themselves
	On     map[int]int // of those, how many are on a NUMA node, if any are
}

// Figures are those of now.
func (s *StaticCPUs) Figures() Figures {
	given := cpuset.New()
	for _, of := range s.state.Given {
		for _, set := range of {
			given = given.Union(set)
		}
	}
	f := Figures{Shared: s.free().Size(), Given: given.Size(), On: map[int]int{}}
	for _, id := range given.UnsortedList() {
		f.On[s.machine.places[id].node]++
	}
	return f
}

// OneCache says whether the CPUs that a container has for itself share one uncore cache.
func (s *StaticCPUs) OneCache(uid types.UID, container string) bool {
	set, own := s.state.Given[uid][container]
	return own && s.machine.only(set).groups(uncore).Size() == 1
}
