package devices

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Health is how the devices are that the containers of a pod have: as their plugins have reported
// last, and healthy if they have reported nothing (A-DEV-12).
func (d *Devices) Health(pod *v1.Pod) map[string][]v1.ResourceStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string][]v1.ResourceStatus{}
	for container, has := range d.pods[pod.UID] {
		for _, name := range slices.Sorted(maps.Keys(has)) {
			status := v1.ResourceStatus{Name: v1.ResourceName(name), Resources: []v1.ResourceHealth{}}
			for _, id := range sets.List(has[name].ids()) {
				status.Resources = append(status.Resources, v1.ResourceHealth{ResourceID: v1.ResourceID(id), Health: d.healthOf(name, id)})
			}
			all[container] = append(all[container], status)
		}
	}
	return all
}

func (d *Devices) healthOf(name, id string) v1.ResourceHealthStatus {
	if healthy(d.last[name], id) {
		return v1.ResourceHealthStatusHealthy
	}
	return v1.ResourceHealthStatusUnhealthy
}
