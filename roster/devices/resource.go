package devices

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// IDs are devices of one resource.
type IDs = sets.Set[string]

// Device is one device as its plugin tells of it.
type Device struct {
	Healthy bool
	Nodes   []int64 // the NUMA nodes that it is near to; empty: it is near to none
}

// Resource is what a plugin has told of its resource.
type Resource map[string]Device // by ID

// Healthy are the devices that may be given away.
func (r Resource) Healthy() IDs {
	ids := IDs{}
	for id, device := range r {
		if device.Healthy {
			ids.Insert(id)
		}
	}
	return ids
}

// Unhealthy returns the same devices, all of them not to be used.
func (r Resource) Unhealthy() Resource {
	out := make(Resource, len(r))
	for id, device := range r {
		device.Healthy = false
		out[id] = device
	}
	return out
}

// aligned says whether topology counts for a resource: whether a device of it has some.
func (r Resource) aligned() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(r)), func(d Device) bool { return len(d.Nodes) > 0 })
}
