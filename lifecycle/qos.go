package lifecycle

import (
	v1 "k8s.io/api/core/v1"
)

// QOSClass is the pod's class (A-API-3): what its status says, which never
// changes once set, else what its spec amounts to.
func QOSClass(pod *v1.Pod) v1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	guaranteed := true
	for _, r := range qosResources(pod) {
		addPositive(requests, r.Requests)
		if addPositive(limits, r.Limits) < 2 {
			guaranteed = false
		}
	}
	switch {
	case len(requests) == 0 && len(limits) == 0:
		return v1.PodQOSBestEffort
	case guaranteed && sameQuantities(requests, limits):
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

// qosResources is what the class depends on: the pod's own resources if set,
// else those of its regular and init containers. Ephemeral containers have none.
func qosResources(pod *v1.Pod) []v1.ResourceRequirements {
	if pod.Spec.Resources != nil {
		return []v1.ResourceRequirements{*pod.Spec.Resources}
	}
	var out []v1.ResourceRequirements
	for _, c := range pod.Spec.Containers {
		out = append(out, c.Resources)
	}
	for _, c := range pod.Spec.InitContainers {
		out = append(out, c.Resources)
	}
	return out
}

// addPositive adds the positive quantities of cpu and memory to sum and returns
// how many of the two there were.
func addPositive(sum, list v1.ResourceList) int {
	count := 0
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		quantity, found := list[name]
		if !found || quantity.Sign() <= 0 {
			continue
		}
		count++
		total := sum[name].DeepCopy()
		total.Add(quantity)
		sum[name] = total
	}
	return count
}

func sameQuantities(requests, limits v1.ResourceList) bool {
	for name, request := range requests {
		if limit, found := limits[name]; !found || limit.Cmp(request) != 0 {
			return false
		}
	}
	return len(requests) == len(limits)
}

// MaySwap reports a container that has a part of the swap by its memory, where containers have one
// (A-CRI-11).
func MaySwap(pod *v1.Pod, container *v1.Container) bool {
	request, limit := container.Resources.Requests.Memory(), container.Resources.Limits.Memory()
	return QOSClass(pod) == v1.PodQOSBurstable && !Critical(pod) && request.Cmp(*limit) != 0
}
