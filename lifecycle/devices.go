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

// shownDevices are the devices that a container's status shows.
func shownDevices(s *step, c *container) []v1.ResourceStatus {
	if c.kind != regularContainer {
		return nil
	}
	return s.devices[c.Name]
}
