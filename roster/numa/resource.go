package numa

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// DeviceIDs are devices of one resource.
type DeviceIDs = sets.Set[string]

// Device is one device as its plugin tells of it.
type Device struct {
	Healthy bool
	Nodes   []int64 // the NUMA nodes that it is near to; empty: it is near to none
}

// DeviceResource is what a plugin has told of its resource.
type DeviceResource map[string]Device // by ID

// Healthy are the devices that may be given away.
func (r DeviceResource) Healthy() DeviceIDs {
	ids := DeviceIDs{}
	for id, device := range r {
		if device.Healthy {
			ids.Insert(id)
		}
	}
	return ids
}

// Unhealthy returns the same devices, all of them not to be used.
func (r DeviceResource) Unhealthy() DeviceResource {
	out := make(DeviceResource, len(r))
	for id, device := range r {
		device.Healthy = false
		out[id] = device
	}
	return out
}

// aligned says whether topology counts for a resource: whether a device of it has some.
func (r DeviceResource) aligned() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(r)), func(d Device) bool { return len(d.Nodes) > 0 })
}
