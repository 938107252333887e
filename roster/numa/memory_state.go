package numa

import (
	"errors"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/lifepod/lifepod/lifecycle"
)

// NUMANodeMap is what each NUMA node has, by its ID. The names of these types and of their
// fields are the kubelet's: the checksum of its state file is made of them.
type NUMANodeMap map[int]*NUMANodeState

// NUMANodeState is one NUMA node.
type NUMANodeState struct {
	// NumberOfAssignments counts the blocks that are on the node.
	NumberOfAssignments int `json:"numberOfAssignments"`
	// MemoryMap has what there is of memory and of huge pages.
	MemoryMap map[v1.ResourceName]*MemoryTable `json:"memoryMap"`
	// Cells are the nodes that have blocks together with this one, itself included.
	Cells []int `json:"cells"`
}

// MemoryTable is how much there is of a resource, in bytes.
type MemoryTable struct {
	TotalMemSize   uint64 `json:"total"`
	SystemReserved uint64 `json:"systemReserved"`
	Allocatable    uint64 `json:"allocatable"`
	Reserved       uint64 `json:"reserved"`
	Free           uint64 `json:"free"`
}

// Block is an amount of a resource that a container has on one or several nodes.
type Block struct {
	NUMAAffinity []int           `json:"numaAffinity"`
	Type         v1.ResourceName `json:"type"`
	Size         uint64          `json:"size"` // bytes
}

// ContainerMemoryAssignments are the blocks of each container, by pod UID and name.
type ContainerMemoryAssignments map[string]map[string][]Block

// MemoryState is who has which memory.
type MemoryState struct {
	Nodes NUMANodeMap
	Given ContainerMemoryAssignments
}

// Clone returns an independent copy.
func (s MemoryState) Clone() MemoryState {
	c := MemoryState{Nodes: NUMANodeMap{}, Given: ContainerMemoryAssignments{}}
	for id, n := range s.Nodes {
		tables := make(map[v1.ResourceName]*MemoryTable, len(n.MemoryMap))
		for name, table := range n.MemoryMap {
			copied := *table
			tables[name] = &copied
		}
		c.Nodes[id] = &NUMANodeState{NumberOfAssignments: n.NumberOfAssignments, MemoryMap: tables, Cells: slices.Clone(n.Cells)}
	}
	for uid, of := range s.Given {
		c.Given[uid] = make(map[string][]Block, len(of))
		for name, blocks := range of {
			c.Given[uid][name] = slices.Clone(blocks)
		}
	}
	return c
}

// table is what a node has of a resource; all zero if it has none.
func (s MemoryState) table(node int, resource v1.ResourceName) MemoryTable {
	if n := s.Nodes[node]; n != nil && n.MemoryMap[resource] != nil {
		return *n.MemoryMap[resource]
	}
	return MemoryTable{}
}

// hold takes an amount from some nodes, as much as possible from each in turn.
func (s *MemoryState) hold(nodes []int, resource v1.ResourceName, size uint64) {
	for _, id := range nodes {
		n := s.Nodes[id]
		n.NumberOfAssignments++
		n.Cells = slices.Clone(nodes)
		if table := n.MemoryMap[resource]; table != nil {
			part := min(size, table.Free)
			table.Free, table.Reserved = table.Free-part, table.Reserved+part
			size -= part
		}
	}
}

// giveBack is the opposite of hold.
func (s *MemoryState) giveBack(blocks []Block) {
	for _, b := range blocks {
		size := b.Size
		for _, id := range b.NUMAAffinity {
			n := s.Nodes[id]
			if n.NumberOfAssignments--; n.NumberOfAssignments == 0 {
				n.Cells = []int{id}
			}
			if table := n.MemoryMap[b.Type]; table != nil {
				part := min(size, table.Reserved)
				table.Free, table.Reserved = table.Free+part, table.Reserved-part
				size -= part
			}
		}
	}
}

// remove takes a container's blocks from it.
func (s *MemoryState) remove(uid, container string) {
	blocks, has := s.Given[uid][container]
	if !has {
		return
	}
	if delete(s.Given[uid], container); len(s.Given[uid]) == 0 {
		delete(s.Given, uid)
	}
	s.giveBack(blocks)
}

func (s *MemoryState) give(uid, container string, blocks []Block) {
	if s.Given[uid] == nil {
		s.Given[uid] = map[string][]Block{}
	}
	s.Given[uid][container] = blocks
}

func sameNodes(a, b []int) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func sortedNames[V any](of map[v1.ResourceName]V) []v1.ResourceName {
	return slices.Sorted(maps.Keys(of))
}

// amounts are in bytes, by resource.
type amounts map[v1.ResourceName]uint64

var errQuantity = errors.New("[memorymanager] failed to represent quantity as int64")

// keeps says whether memory is kept for a pod's containers: for those of a Guaranteed pod
// without resources of its own (A-NUMA-12).
func keeps(pod *v1.Pod) bool {
	return lifecycle.QOSClass(pod) == v1.PodQOSGuaranteed && !resourcehelper.IsPodLevelResourcesSet(pod)
}

// containerMemory is the memory and the huge pages that a container requests.
func containerMemory(container *v1.Container) (amounts, error) {
	out := amounts{}
	for name, quantity := range container.Resources.Requests {
		if name != v1.ResourceMemory && !strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			continue
		}
		size, ok := quantity.AsInt64()
		if !ok {
			return nil, errQuantity
		}
		out[name] = uint64(size)
	}
	return out, nil
}

// podMemory is what its containers have at the same time at most, of what its regular
// containers request.
func podMemory(pod *v1.Pod) (amounts, error) {
	inits, sidecars, out := amounts{}, amounts{}, amounts{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		wants, err := containerMemory(c)
		if err != nil {
			return nil, err
		}
		for name, size := range wants {
			if lifecycle.IsSidecar(c) {
				sidecars[name] += size
			} else {
				inits[name] = max(inits[name], sidecars[name]+size)
			}
		}
	}
	for i := range pod.Spec.Containers {
		wants, err := containerMemory(&pod.Spec.Containers[i])
		if err != nil {
			return nil, err
		}
		for name, size := range wants {
			out[name] += size
		}
	}
	for name := range out {
		out[name] = max(inits[name], out[name]+sidecars[name])
	}
	return out, nil
}
