package numa

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
)

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
