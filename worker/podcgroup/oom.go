package podcgroup

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

const (
	guaranteedOOMScoreAdjust = -997
	bestEffortOOMScoreAdjust = 1000
	systemNodeCritical       = "system-node-critical"
)

// OOMScoreAdjust is the oom_score_adj of a container's processes (A-CRI-10).
// nodeMemory is the host's memory in bytes.
func OOMScoreAdjust(pod *v1.Pod, container *v1.Container, nodeMemory int64) int64 {
	if nodeCritical(pod) {
		return guaranteedOOMScoreAdjust
	}
	switch lifecycle.QOSClass(pod) {
	case v1.PodQOSGuaranteed:
		return guaranteedOOMScoreAdjust
	case v1.PodQOSBestEffort:
		return bestEffortOOMScoreAdjust
	}
	request := container.Resources.Requests.Memory().Value()
	if sidecar(pod, container) {
		// A sidecar must not be killed before the containers it serves: it scores
		// as if it asked for as much as the smallest of them.
		request = max(request, smallestRequest(pod))
	}
	request += unassignedRequest(pod)
	score := int64(bestEffortOOMScoreAdjust)
	if nodeMemory > 0 {
		score -= 1000 * request / nodeMemory
	}
	return min(max(score, bestEffortOOMScoreAdjust+guaranteedOOMScoreAdjust), bestEffortOOMScoreAdjust-1)
}

// nodeCritical reports a pod the node itself depends on: by its class, and
// critical as a static pod or by priority.
func nodeCritical(pod *v1.Pod) bool {
	return pod.Spec.PriorityClassName == systemNodeCritical && lifecycle.Critical(pod)
}

func sidecar(pod *v1.Pod, container *v1.Container) bool {
	return ptr.Deref(container.RestartPolicy, "") == v1.ContainerRestartPolicyAlways &&
		slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == container.Name })
}

func smallestRequest(pod *v1.Pod) int64 {
	var smallest int64
	for i := range pod.Spec.Containers {
		request := pod.Spec.Containers[i].Resources.Requests.Memory().Value()
		if i == 0 || request < smallest {
			smallest = request
		}
	}
	return smallest
}

// unassignedRequest is a container's even part of the pod-level memory request
// that no container claims.
func unassignedRequest(pod *v1.Pod) int64 {
	if !resourcehelper.IsPodLevelRequestsSet(pod) || pod.Spec.Resources.Requests.Memory().IsZero() {
		return 0
	}
	claimed := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	rest := max(0, pod.Spec.Resources.Requests.Memory().Value()-claimed.Memory().Value())
	return rest / int64(len(pod.Spec.Containers)+len(pod.Spec.InitContainers))
}
