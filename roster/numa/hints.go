package numa

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/lifecycle"
)

// Hints says on which NUMA nodes the CPUs of a container could be (A-NUMA-8).
func (s *StaticCPUs) Hints(pod *v1.Pod, container *v1.Container) Hints {
	count := containerCPUs(pod, container)
	if count == 0 {
		return nil
	}
	if has, given := s.state.Given[pod.UID][container.Name]; given {
		return s.hintsForGiven(has, count)
	}
	return hintsOf(s.hints(s.free(), s.reusable, count))
}

// PodHints is Hints for all containers of a pod together.
func (s *StaticCPUs) PodHints(pod *v1.Pod) Hints {
	count := podCPUs(pod)
	if count == 0 {
		return nil
	}
	assigned := cpuset.New()
	for _, c := range lifecycle.Containers(pod) {
		if has, given := s.state.Given[pod.UID][c.Name]; given {
			if has.Size() != containerCPUs(pod, c) {
				return none()
			}
			assigned = assigned.Union(has)
		}
	}
	if assigned.Size() == count {
		return s.hintsForGiven(assigned, count)
	}
	return hintsOf(s.hints(s.free(), s.reusable.Union(assigned), count))
}

// hintsForGiven are those of CPUs that were given before.
func (s *StaticCPUs) hintsForGiven(has cpuset.CPUSet, count int) Hints {
	if has.Size() != count {
		return none()
	}
	return hintsOf(s.hints(has, cpuset.New(), count))
}

func hintsOf(list []Hint) Hints {
	if list == nil {
		return none()
	}
	return Hints{string(v1.ResourceCPU): list}
}

// none says that there is no way to have the CPUs.
func none() Hints { return Hints{string(v1.ResourceCPU): {}} }

// hints are all sets of NUMA nodes with enough CPUs; those that must be reused are on every
// one. Preferred are the sets of as few nodes as the machine would need if it was empty.
func (s *StaticCPUs) hints(free, reuse cpuset.CPUSet, count int) []Hint {
	nodes := s.machine.groups(node).List()
	fewest := len(nodes)
	var hints []Hint
	Combinations(nodes, func(set Mask) {
		all := s.machine.in(node, set.Nodes()...)
		if all.Size() >= count {
			fewest = min(fewest, set.Count())
		}
		if reuse.IsSubsetOf(all) && free.Intersection(all).Size()+reuse.Size() >= count {
			hints = append(hints, Hint{Nodes: set})
		}
	})
	for i := range hints {
		set := hints[i].Nodes
		hints[i].Preferred = set.Count() == fewest || s.options.AlignBySocket && s.onFewestSockets(set, fewest)
	}
	return hints
}

// onFewestSockets says whether NUMA nodes are on as few sockets as so many nodes can be.
func (s *StaticCPUs) onFewestSockets(set Mask, fewest int) bool {
	perSocket := s.machine.nodes / s.machine.sockets
	if perSocket == 0 {
		return false
	}
	sockets := s.machine.only(s.machine.in(node, set.Nodes()...)).groups(socket).Size()
	return sockets == (fewest+perSocket-1)/perSocket
}

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
