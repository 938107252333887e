package devices

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

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
