package numa

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/cpuset"
)

// CPUState is who has which CPUs.
type CPUState struct {
	// Shared are the CPUs of all containers that have none for themselves.
	Shared cpuset.CPUSet
	// Given are those of single containers, by pod and name. An init container may have
	// had CPUs that another container of its pod has now.
	Given map[types.UID]map[string]cpuset.CPUSet
}

// Clone returns an independent copy.
func (s CPUState) Clone() CPUState {
	c := CPUState{Shared: s.Shared, Given: make(map[types.UID]map[string]cpuset.CPUSet, len(s.Given))}
	for uid, of := range s.Given {
		c.Given[uid] = maps.Clone(of)
	}
	return c
}

// Equal says whether everybody has the same CPUs.
func (s CPUState) Equal(other CPUState) bool {
	return s.Shared.Equals(other.Shared) && maps.EqualFunc(s.Given, other.Given, func(a, b map[string]cpuset.CPUSet) bool {
		return maps.EqualFunc(a, b, cpuset.CPUSet.Equals)
	})
}

func (s *CPUState) give(uid types.UID, container string, set cpuset.CPUSet) {
	if s.Given[uid] == nil {
		s.Given[uid] = map[string]cpuset.CPUSet{}
	}
	s.Given[uid][container] = set
	s.Shared = s.Shared.Difference(set)
}

// release returns the CPUs of a pod to all.
func (s *CPUState) release(uid types.UID) {
	for _, set := range s.Given[uid] {
		s.Shared = s.Shared.Union(set)
	}
	delete(s.Given, uid)
}

// check says why a state of before can't be gone on with (A-NUMA-15).
func (s CPUState) check(all, reserved cpuset.CPUSet, strict bool) error {
	shared := s.Shared
	switch inShared := reserved.Intersection(shared); {
	case shared.IsEmpty():
		return errors.New("default cpuset cannot be empty")
	case strict && !inShared.IsEmpty():
		return fmt.Errorf("some of strictly reserved cpus: %q are present in defaultCpuSet: %q", inShared, shared)
	case !strict && !inShared.Equals(reserved):
		return fmt.Errorf("not all reserved cpus: %q are present in defaultCpuSet: %q", reserved, shared)
	}
	known := shared
	for _, uid := range slices.Sorted(maps.Keys(s.Given)) {
		for _, name := range slices.Sorted(maps.Keys(s.Given[uid])) {
			set := s.Given[uid][name]
			if !shared.Intersection(set).IsEmpty() {
				return fmt.Errorf("pod: %s, container: %s cpuset: %q overlaps with default cpuset %q", uid, name, set, shared)
			}
			known = known.Union(set)
		}
	}
	if strict {
		all = all.Difference(reserved)
	}
	if !known.Equals(all) {
		return fmt.Errorf("current set of available CPUs %q doesn't match with CPUs in state %q", all, known)
	}
	return nil
}
