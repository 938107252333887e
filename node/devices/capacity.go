package devices

import (
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Capacity is what the Node has of devices, and how many of them may be used. Of a resource
// whose plugin has stopped none may; one whose plugin is away for long has none (A-DEV-4).
func (d *Devices) Capacity() (capacity, allocatable v1.ResourceList) {
	d.mu.Lock()
	defer d.mu.Unlock()
	capacity, allocatable = v1.ResourceList{}, v1.ResourceList{}
	for name, r := range d.resources {
		capacity[v1.ResourceName(name)] = *resource.NewQuantity(int64(len(r.devices)), resource.DecimalSI)
		allocatable[v1.ResourceName(name)] = *resource.NewQuantity(int64(r.devices.Healthy().Len()), resource.DecimalSI)
	}
	for name := range d.removed {
		capacity[v1.ResourceName(name)] = *resource.NewQuantity(0, resource.DecimalSI)
		allocatable[v1.ResourceName(name)] = *resource.NewQuantity(0, resource.DecimalSI)
	}
	return capacity, allocatable
}

// KnewNode says whether an agent has had this machine as a node before: extended resources that
// somebody has put into the Node stay then (A-DEV-4).
func (d *Devices) KnewNode() bool {
	_, err := os.Stat(d.path())
	return err == nil
}
