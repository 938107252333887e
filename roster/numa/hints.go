package numa

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/cpuset"
)

// Hints says on which NUMA nodes the CPUs of a container could be (A-NUMA-8).
func (a *CPUAdmission) Hints(pod *v1.Pod, container *v1.Container) Hints {
	count := containerCPUs(pod, container)
	if count == 0 {
		return nil
	}
	if has, given := a.static.state.Given[pod.UID][container.Name]; given {
		return a.static.hintsForGiven(has, count)
	}
	return hintsOf(a.static.hints(a.static.free(), a.reusable, count))
}

// PodHints is Hints for all containers of a pod together.
func (a *CPUAdmission) PodHints(pod *v1.Pod) Hints {
	count := podCPUs(pod)
	if count == 0 {
		return nil
	}
	assigned := cpuset.New()
	for _, of := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range of {
			if has, given := a.static.state.Given[pod.UID][of[i].Name]; given {
				if has.Size() != containerCPUs(pod, &of[i]) {
					return none()
				}
				assigned = assigned.Union(has)
			}
		}
	}
	if assigned.Size() == count {
		return a.static.hintsForGiven(assigned, count)
	}
	return hintsOf(a.static.hints(a.static.free(), a.reusable.Union(assigned), count))
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
