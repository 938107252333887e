package admit

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// checkFit compares what the pod requests, overhead included, with what the
// node has. Other pods are not counted: nothing is set aside for them. A resource
// of devices that the node does not know is left out (A-ADM-5).
func checkFit(pod *v1.Pod, host Host) *Refusal {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	names := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	for _, name := range append(names, hugePages(requests)...) {
		request, capacity := requests[name], host.Allocatable[name]
		if _, known := host.Allocatable[name]; !known && name == v1.ResourceEphemeralStorage {
			continue
		}
		if request.Cmp(capacity) > 0 {
			return insufficientResource(name, amount(name, requests), amount(name, host.Allocatable))
		}
	}
	return nil
}

func hugePages(list v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for name := range list {
		if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// amount is in thousandths of a CPU, and else in bytes.
func amount(name v1.ResourceName, list v1.ResourceList) int64 {
	quantity := list[name]
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

func insufficientResource(name v1.ResourceName, requested, capacity int64) *Refusal {
	return &Refusal{
		Reason:  "OutOf" + string(name),
		Message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, requested, 0, capacity),
	}
}
