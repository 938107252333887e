package criconfig

import (
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Assigned is what a container is given of the node by name: devices of device plugins and
// of claims, CPUs and NUMA nodes of its own. The zero value is nothing (A-DEV-1).
type Assigned struct {
	// Env loses against the container's own variables; it is part of Environment already.
	Env         []KeyValue
	Mounts      []*runtimeapi.Mount
	Devices     []*runtimeapi.Device
	Annotations map[string]string
	// CDIDevices are fully qualified names, such as vendor.com/gpu=0.
	CDIDevices []string
	// CPUs and MemoryNodes are lists as in cpuset.cpus and cpuset.mems; empty: not limited.
	CPUs        string
	MemoryNodes string
}

// Add adds what another part of the node has assigned to the same container. What was there
// before counts where both say something.
func (a *Assigned) Add(other Assigned) {
	for _, e := range other.Env {
		if !slices.ContainsFunc(a.Env, func(has KeyValue) bool { return has.Name == e.Name }) {
			a.Env = append(a.Env, e)
		}
	}
	for _, m := range other.Mounts {
		if !slices.ContainsFunc(a.Mounts, func(has *runtimeapi.Mount) bool { return has.ContainerPath == m.ContainerPath }) {
			a.Mounts = append(a.Mounts, m)
		}
	}
	for _, d := range other.Devices {
		if !slices.ContainsFunc(a.Devices, func(has *runtimeapi.Device) bool { return has.ContainerPath == d.ContainerPath }) {
			a.Devices = append(a.Devices, d)
		}
	}
	for key, value := range other.Annotations {
		if a.Annotations == nil {
			a.Annotations = map[string]string{}
		}
		if _, has := a.Annotations[key]; !has {
			a.Annotations[key] = value
		}
	}
	for _, name := range other.CDIDevices {
		if !slices.Contains(a.CDIDevices, name) {
			a.CDIDevices = append(a.CDIDevices, name)
		}
	}
	if a.CPUs == "" {
		a.CPUs = other.CPUs
	}
	if a.MemoryNodes == "" {
		a.MemoryNodes = other.MemoryNodes
	}
}

// cdiDevices are the names as the runtime takes them.
func (a *Assigned) cdiDevices() []*runtimeapi.CDIDevice {
	var out []*runtimeapi.CDIDevice
	for _, name := range a.CDIDevices {
		out = append(out, &runtimeapi.CDIDevice{Name: name})
	}
	return out
}

// limit keeps a container to the CPUs and NUMA nodes that it was assigned.
func (a *Assigned) limit(resources *runtimeapi.LinuxContainerResources) *runtimeapi.LinuxContainerResources {
	resources.CpusetCpus, resources.CpusetMems = a.CPUs, a.MemoryNodes
	return resources
}
