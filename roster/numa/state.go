package numa

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
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

var (
	errNoMachine = errors.New("[memorymanager] machine state can not be empty when it has memory assignments")
	errDiffers   = errors.New("[memorymanager] the expected machine state is different from the real one")
)

// check says why a state of before can't be gone on with: the machine as it is now, with
// what the containers have, should be what the state says (A-NUMA-15).
func (s MemoryState) check(empty MemoryState) error {
	expected := empty.Clone()
	for _, uid := range slices.Sorted(maps.Keys(s.Given)) {
		for _, container := range slices.Sorted(maps.Keys(s.Given[uid])) {
			for _, b := range s.Given[uid][container] {
				for _, id := range b.NUMAAffinity {
					if n := expected.Nodes[id]; n == nil {
						return fmt.Errorf("[memorymanager] (pod: %s, container: %s) the memory assignment uses the NUMA that does not exist", uid, container)
					} else if n.MemoryMap[b.Type] == nil {
						return fmt.Errorf("[memorymanager] (pod: %s, container: %s) the memory assignment uses memory resource that does not exist", uid, container)
					}
				}
				expected.hold(b.NUMAAffinity, b.Type, b.Size)
			}
		}
	}
	if len(s.Nodes) != len(expected.Nodes) {
		return errDiffers
	}
	for id, n := range s.Nodes {
		if e := expected.Nodes[id]; e == nil || n == nil || !s.sameNode(id, expected) {
			return errDiffers
		}
	}
	return nil
}

// sameNode compares a node; which node of a group has how much of what they hold together
// depends on the order in which it was given, so of groups the sums are compared.
func (s MemoryState) sameNode(id int, expected MemoryState) bool {
	n, e := s.Nodes[id], expected.Nodes[id]
	if n.NumberOfAssignments != e.NumberOfAssignments || !sameNodes(n.Cells, e.Cells) || len(n.MemoryMap) != len(e.MemoryMap) {
		return false
	}
	for name := range n.MemoryMap {
		if e.MemoryMap[name] == nil {
			return false
		}
		is, want := s.table(id, name), expected.table(id, name)
		if is.TotalMemSize != want.TotalMemSize || is.SystemReserved != want.SystemReserved || is.Allocatable != want.Allocatable {
			return false
		}
		isFree, isHeld := s.sums(n.Cells, name)
		free, held := expected.sums(n.Cells, name)
		if isFree != free || isHeld != held {
			return false
		}
	}
	return true
}

func (s MemoryState) sums(nodes []int, resource v1.ResourceName) (free, held uint64) {
	for _, id := range nodes {
		t := s.table(id, resource)
		free, held = free+t.Free, held+t.Reserved
	}
	return free, held
}
