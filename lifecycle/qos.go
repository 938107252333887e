package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// QOSClass is the pod's class (A-API-3): what its status says, which never
// changes once set, else what its spec amounts to.
func QOSClass(pod *v1.Pod) v1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return classOf(pod.Spec.Resources)
	}
	var class v1.PodQOSClass
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) { // ephemeral ones have no resources
		own := classOf(&c.Resources)
		if class != "" && own != class {
			return v1.PodQOSBurstable
		}
		class = own
	}
	return class
}

func classOf(r *v1.ResourceRequirements) v1.PodQOSClass {
	asked := 0
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		if request.Cmp(limit) != 0 {
			return v1.PodQOSBurstable
		}
		if !request.IsZero() {
			asked++
		}
	}
	return [...]v1.PodQOSClass{v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed}[asked]
}

// MaySwap reports a container that has a part of the swap by its memory, where containers have one
// (A-CRI-11).
func MaySwap(pod *v1.Pod, container *v1.Container) bool {
	request, limit := container.Resources.Requests.Memory(), container.Resources.Limits.Memory()
	return QOSClass(pod) == v1.PodQOSBurstable && !Critical(pod) && request.Cmp(*limit) != 0
}
