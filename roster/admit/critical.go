package admit

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Critical says whether others make room for the pod (B-PRE-1).
func Critical(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror || lifecycle.Critical(pod)
}

// preemptable says whether the candidate may take the other's place.
func preemptable(candidate, other *v1.Pod) bool {
	if Critical(candidate) && !Critical(other) {
		return true
	}
	mine, theirs := candidate.Spec.Priority, other.Spec.Priority
	return mine != nil && theirs != nil && *mine > *theirs
}
