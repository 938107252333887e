package numa

import (
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/lifepod/lifepod/lifecycle"
)

// containerCPUs is how many CPUs a container gets for itself: as many as it requests, if that
// is a whole number and its pod is Guaranteed (A-NUMA-3); 0 if it shares CPUs. Pods with
// resources of their own, besides those of containers, share them.
func containerCPUs(pod *v1.Pod, container *v1.Container) int {
	if lifecycle.QOSClass(pod) != v1.PodQOSGuaranteed || resourcehelper.IsPodLevelResourcesSet(pod) {
		return 0
	}
	request := container.Resources.Requests[v1.ResourceCPU]
	if request.Value()*1000 != request.MilliValue() {
		return 0
	}
	return int(request.Value())
}

// AsksForCPUs says whether a container gets CPUs for itself.
func AsksForCPUs(pod *v1.Pod, container *v1.Container) bool { return containerCPUs(pod, container) > 0 }

// podCPUs is how many CPUs its containers have at the same time at most.
func podCPUs(pod *v1.Pod) int {
	inits, sidecars, regular := 0, 0, 0
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if lifecycle.IsSidecar(c) {
			sidecars += containerCPUs(pod, c)
		} else {
			inits = max(inits, sidecars+containerCPUs(pod, c))
		}
	}
	for i := range pod.Spec.Containers {
		regular += containerCPUs(pod, &pod.Spec.Containers[i])
	}
	return max(inits, sidecars+regular)
}
