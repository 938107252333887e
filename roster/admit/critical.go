package admit

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// preemptable says whether the candidate may take the other's place.
func preemptable(candidate, other *v1.Pod) bool {
	if lifecycle.Critical(candidate) && !lifecycle.Critical(other) {
		return true
	}
	mine, theirs := candidate.Spec.Priority, other.Spec.Priority
	return mine != nil && theirs != nil && *mine > *theirs
}
