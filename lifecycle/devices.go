package lifecycle

import (
	v1 "k8s.io/api/core/v1"
)

// deviceStatuses are the devices of regular containers, by the containers' names. They are
// replaced, never changed.
type deviceStatuses map[string][]v1.ResourceStatus

// DevicesChanged says which devices the regular containers have, by name, and how healthy
// these are: all of them, as they are now (A-DEV-12).
type DevicesChanged struct {
	Containers map[string][]v1.ResourceStatus
}

func (DevicesChanged) isFact() {}

func applyDevicesChanged(s *step, f DevicesChanged) { s.devices = f.Containers }

// keepDevices shows the devices of a pod that another process ran as they were reported, until
// DevicesChanged tells of them anew.
func (m *Machine) keepDevices() {
	m.devices = deviceStatuses{}
	for _, status := range m.kept.Reported.ContainerStatuses {
		m.devices[status.Name] = status.AllocatedResourcesStatus
	}
}

// devicesStatus is how a container's devices are, as its status shows them.
func devicesStatus(s *step, c *container) (list []v1.ResourceStatus) {
	if c.kind != regularContainer {
		return nil
	}
	for _, status := range s.devices[c.Name] {
		list = append(list, *status.DeepCopy())
	}
	return list
}
