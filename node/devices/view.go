package devices

import (
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/roster/numa"
)

// CPUs are those that a container has for itself; nil: it shares those of all.
func (r *Resources) CPUs(uid types.UID, container string) []int64 {
	if part := r.of(uid, container); part.Own {
		return list(part.CPUs)
	}
	return nil
}

// Memory is what is kept for a container.
func (r *Resources) Memory(uid types.UID, container string) []*api.ContainerMemory {
	if r.rules.Memory == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return blocks(r.has.Memory.BlocksOf(uid, container))
}

// All is what containers can have for themselves; nil where there is no policy.
func (r *Resources) All() (cpus []int64, memory []*api.ContainerMemory) {
	if r.rules.CPUs != nil {
		cpus = list(r.rules.CPUs.Allocatable())
	}
	if r.rules.Memory != nil {
		memory = blocks(r.rules.Memory.Allocatable())
	}
	return cpus, memory
}

// Figures are how many CPUs there are for whom; none without a policy.
func (r *Resources) Figures() numa.Figures {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.has.Figures()
}

func list(set cpuset.CPUSet) []int64 {
	ids := make([]int64, 0, set.Size())
	for _, id := range set.List() {
		ids = append(ids, int64(id))
	}
	return ids
}

func blocks(of []numa.Block) (out []*api.ContainerMemory) {
	for _, b := range of {
		near := &api.TopologyInfo{}
		for _, node := range b.NUMAAffinity {
			near.Nodes = append(near.Nodes, &api.NUMANode{ID: int64(node)})
		}
		out = append(out, &api.ContainerMemory{MemoryType: string(b.Type), Size: b.Size, Topology: near})
	}
	return out
}
