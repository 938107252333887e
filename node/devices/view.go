package devices

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	info "github.com/google/cadvisor/lib/model"
	"github.com/google/cadvisor/lib/utils/sysfs"
	"github.com/google/cadvisor/lib/utils/sysinfo"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
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
func (r *Resources) Memory(uid types.UID, container string) []*podresources.ContainerMemory {
	if r.rules.Memory == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return blocks(r.has.Memory.BlocksOf(uid, container))
}

// All is what containers can have for themselves; nil where there is no policy.
func (r *Resources) All() (cpus []int64, memory []*podresources.ContainerMemory) {
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

func blocks(of []numa.Block) (out []*podresources.ContainerMemory) {
	for _, b := range of {
		near := &podresources.TopologyInfo{}
		for _, node := range b.NUMAAffinity {
			near.Nodes = append(near.Nodes, &podresources.NUMANode{ID: int64(node)})
		}
		out = append(out, &podresources.ContainerMemory{MemoryType: string(b.Type), Size: b.Size, Topology: near})
	}
	return out
}

// Given are the devices of a container as the pod resources API tells of them: one at a time, once for each
// NUMA node that it is near to (A-DEV-13).
func (d *Devices) Given(uid types.UID, container string) []*podresources.ContainerDevices {
	d.mu.Lock()
	defer d.mu.Unlock()
	has := d.pods[uid][container]
	var list []*podresources.ContainerDevices
	for _, name := range slices.Sorted(maps.Keys(has)) {
		var given []*podresources.ContainerDevices
		for node, ids := range has[name].near {
			for _, id := range ids {
				given = append(given, near(name, id, node))
			}
		}
		slices.SortFunc(given, func(a, b *podresources.ContainerDevices) int {
			return cmp.Or(cmp.Compare(a.DeviceIds[0], b.DeviceIds[0]), cmp.Compare(nodeOf(a), nodeOf(b)))
		})
		list = append(list, given...)
	}
	return list
}

// Usable are the healthy devices of all plugins, reported as in Given (A-DEV-14).
func (d *Devices) Usable() []*podresources.ContainerDevices {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*podresources.ContainerDevices
	for _, name := range slices.Sorted(maps.Keys(d.resources)) {
		all := d.resources[name].devices
		for _, id := range sets.List(all.Healthy()) {
			nodes := all[id].Nodes
			if len(nodes) == 0 {
				nodes = []int64{nowhere}
			}
			for _, node := range nodes {
				list = append(list, near(name, id, node))
			}
		}
	}
	return list
}

// nowhere is the node of devices that are near to none, in the checkpoint as well.
const nowhere = -1

func near(name, id string, node int64) *podresources.ContainerDevices {
	device := &podresources.ContainerDevices{ResourceName: name, DeviceIds: []string{id}}
	if node != nowhere {
		device.Topology = &podresources.TopologyInfo{Nodes: []*podresources.NUMANode{{ID: node}}}
	}
	return device
}

func nodeOf(d *podresources.ContainerDevices) int64 {
	if nodes := d.GetTopology().GetNodes(); len(nodes) > 0 {
		return nodes[0].GetID()
	}
	return nowhere
}

// ReadLayout reads this machine's /sys, as the kubelet does: both give CPUs and caches the same
// IDs, so that either goes on with the state of the other.
func ReadLayout() (numa.Layout, error) { return read(sysfs.NewRealSysFs()) }

func read(from sysfs.SysFs) (numa.Layout, error) {
	nodes, _, err := sysinfo.GetNodesInfo(from)
	if err != nil {
		return numa.Layout{}, fmt.Errorf("read the NUMA nodes of the machine: %w", err)
	}
	var l numa.Layout
	for i := range nodes {
		l.Nodes = append(l.Nodes, numaNodeOf(&nodes[i]))
	}
	slices.SortFunc(l.Nodes, func(a, b numa.Node) int { return a.ID - b.ID })
	if l.CPUSet().IsEmpty() {
		return l, errors.New("read the NUMA nodes of the machine: it doesn't say where its CPUs are")
	}
	return l, nil
}

func numaNodeOf(n *info.Node) numa.Node {
	node := numa.Node{ID: n.Id, MemoryBytes: n.Memory, Distances: n.Distances}
	for _, pages := range n.HugePages {
		node.HugePages = append(node.HugePages, numa.HugePages{PageBytes: pages.PageSize << 10, Count: pages.NumPages})
	}
	for _, core := range n.Cores {
		for _, id := range core.Threads {
			cpu := numa.CPU{ID: id, Core: slices.Min(core.Threads), Socket: core.SocketID, UncoreCache: core.SocketID}
			if len(core.UncoreCaches) > 0 {
				cpu.UncoreCache = core.UncoreCaches[0].Id
			}
			node.CPUs = append(node.CPUs, cpu)
		}
	}
	slices.SortFunc(node.CPUs, func(a, b numa.CPU) int { return a.ID - b.ID })
	return node
}
