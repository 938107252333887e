package admit

import v1 "k8s.io/api/core/v1"

// systemCritical is the least priority of a critical pod, that of the priority
// class system-cluster-critical.
const systemCritical = 2_000_000_000

// sourceAnnotation says where a pod came from; mirrorAnnotation marks the API
// object of a static pod.
const (
	sourceAnnotation = "kubernetes.io/config.source"
	mirrorAnnotation = "kubernetes.io/config.mirror"
)

// Critical says whether others make room for the pod (B-PRE-1).
func Critical(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[mirrorAnnotation]
	return mirror || isStatic(pod) || pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCritical
}

func isStatic(pod *v1.Pod) bool {
	source, known := pod.Annotations[sourceAnnotation]
	return known && source != "api"
}

// preemptable says whether the candidate may take the other's place.
func preemptable(candidate, other *v1.Pod) bool {
	if Critical(candidate) && !Critical(other) {
		return true
	}
	mine, theirs := candidate.Spec.Priority, other.Spec.Priority
	return mine != nil && theirs != nil && *mine > *theirs
}
