package numa

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

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
