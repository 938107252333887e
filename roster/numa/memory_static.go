package numa

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// StaticMemory is the policy Static of one machine.
type StaticMemory struct {
	empty MemoryState // of the machine without pods
	state MemoryState
	// reusable is the memory of init containers of the pod that is being admitted, which have
	// ended when its other containers start, by the nodes on which it is.
	reusable map[Mask]amounts
}

// ReservedMemory is what the machine's own programs have of each NUMA node, in bytes.
type ReservedMemory map[int]map[v1.ResourceName]uint64

var errNothingReserved = errors.New("[memorymanager] you should specify the system reserved memory")

// NewStaticMemory returns the policy before any pod (A-NUMA-12).
func NewStaticMemory(layout Layout, reserved ReservedMemory) (*StaticMemory, error) {
	var total uint64
	for _, of := range reserved {
		total += of[v1.ResourceMemory]
	}
	if total == 0 {
		return nil, errNothingReserved
	}
	empty := MemoryState{Nodes: NUMANodeMap{}, Given: ContainerMemoryAssignments{}}
	for _, n := range layout.Nodes {
		empty.Nodes[n.ID] = nodeState(n, reserved[n.ID])
	}
	return (&StaticMemory{empty: empty, state: empty}).Clone(), nil
}

// nodeState is a node that nobody uses. Memory of huge pages is not there for anything else.
func nodeState(n Node, reserved map[v1.ResourceName]uint64) *NUMANodeState {
	state := &NUMANodeState{MemoryMap: map[v1.ResourceName]*MemoryTable{}, Cells: []int{n.ID}}
	var huge uint64
	add := func(name v1.ResourceName, total, usable uint64) {
		allocatable := usable - min(usable, reserved[name])
		state.MemoryMap[name] = &MemoryTable{
			TotalMemSize: total, SystemReserved: reserved[name], Allocatable: allocatable, Free: allocatable,
		}
	}
	for _, pages := range n.HugePages {
		size := pages.Count * pages.PageBytes
		huge += size
		add(hugePagesName(pages.PageBytes), size, size)
	}
	add(v1.ResourceMemory, n.MemoryBytes, n.MemoryBytes-min(n.MemoryBytes, huge))
	return state
}

func hugePagesName(pageBytes uint64) v1.ResourceName {
	return v1.ResourceHugePagesPrefix + v1.ResourceName(resource.NewQuantity(int64(pageBytes), resource.BinarySI).String())
}

// Restore goes on with a state of before. A state that has nothing is as good as none.
func (s *StaticMemory) Restore(state MemoryState) error {
	if len(state.Nodes) == 0 {
		if len(state.Given) > 0 {
			return errNoMachine
		}
		return nil
	}
	if err := state.check(s.empty); err != nil {
		return err
	}
	s.state = state.Clone()
	return nil
}

// State is who has which memory now. It must not be changed.
func (s *StaticMemory) State() MemoryState { return s.state }

// Clone returns an independent copy, to which a pod can be admitted.
func (s *StaticMemory) Clone() *StaticMemory {
	return &StaticMemory{empty: s.empty, state: s.state.Clone(), reusable: map[Mask]amounts{}}
}

// NodesOf are the NUMA nodes of which a container uses memory, the lowest first; nil: of all.
func (s *StaticMemory) NodesOf(uid types.UID, container string) []int {
	var nodes []int
	for _, b := range s.state.Given[string(uid)][container] {
		nodes = append(nodes, b.NUMAAffinity...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// BlocksOf are the blocks of a container.
func (s *StaticMemory) BlocksOf(uid types.UID, container string) []Block {
	return slices.Clone(s.state.Given[string(uid)][container])
}

// Allocatable is what containers can have of each node, by node and resource.
func (s *StaticMemory) Allocatable() []Block {
	var blocks []Block
	for id := range MaxNode + 1 {
		n := s.empty.Nodes[id]
		if n == nil {
			continue
		}
		for _, name := range sortedNames(n.MemoryMap) {
			if size := n.MemoryMap[name].Allocatable; size > 0 {
				blocks = append(blocks, Block{NUMAAffinity: []int{id}, Type: name, Size: size})
			}
		}
	}
	return blocks
}

// Holders are the pods that have memory for themselves.
func (s *StaticMemory) Holders() []types.UID {
	uids := make([]types.UID, 0, len(s.state.Given))
	for uid := range s.state.Given {
		uids = append(uids, types.UID(uid))
	}
	return uids
}

// Release returns the memory of a pod.
func (s *StaticMemory) Release(uid types.UID) {
	of, has := s.state.Given[string(uid)]
	if !has {
		return
	}
	s.state = s.state.Clone()
	for name := range of {
		s.state.remove(string(uid), name)
	}
}

// Started returns the memory of those regular init containers that have ended because a
// later container of the pod was created (A-NUMA-13).
func (s *StaticMemory) Started(pod *v1.Pod, container string) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.Name == container {
			return
		}
		if _, has := s.state.Given[string(pod.UID)][c.Name]; has && !lifecycle.IsSidecar(c) {
			s.state = s.state.Clone()
			s.state.remove(string(pod.UID), c.Name)
		}
	}
}
