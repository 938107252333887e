package devices

import (
	"errors"
	"fmt"
	"slices"

	info "github.com/google/cadvisor/lib/model"
	"github.com/google/cadvisor/lib/utils/sysfs"
	"github.com/google/cadvisor/lib/utils/sysinfo"

	"github.com/lifepod/lifepod/roster/numa"
)

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
