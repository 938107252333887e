package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// What a pod says of its group, and what the node says in return (docs/groups.md).
const (
	// GroupAnnotation asks for the pod to take part in a group; its value is who leads it.
	GroupAnnotation = "lifepod.dev/group"
	// LedByJobSet is the value for a pod of a JobSet (B-GRP-1).
	LedByJobSet = "jobset"
	// JobSetLabel is the label that names the pod's JobSet; its controller sets it.
	JobSetLabel = "jobset.sigs.k8s.io/jobset-name"
	// AttemptAnnotation is where the node says which attempt the pod takes part in (B-GRP-3).
	AttemptAnnotation = "jobset.sigs.k8s.io/in-place-restart-attempt"
)

// groupAsked is what a pod's annotations say of its group.
type groupAsked struct {
	leader string // empty: it takes part in none
	wrong  string // what is wrong with it; empty: nothing
}

// AsksForGroup says whether the pod asks to take part in a group, rightly or not.
func AsksForGroup(pod *v1.Pod) bool {
	asked := groupAskedOf(pod)
	return asked.leader != "" || asked.wrong != ""
}

func groupAskedOf(pod *v1.Pod) groupAsked {
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		if strings.HasPrefix(key, GroupAnnotation) && key != GroupAnnotation {
			return groupAsked{wrong: fmt.Sprintf("the annotation %s is unknown; there is %s", key, GroupAnnotation)}
		}
	}
	leader, asks := pod.Annotations[GroupAnnotation]
	switch {
	case !asks:
		return groupAsked{}
	case leader != LedByJobSet:
		return groupAsked{wrong: fmt.Sprintf("the annotation %s: %q is not a leader of groups; there is %s", GroupAnnotation, leader, LedByJobSet)}
	case pod.Labels[JobSetLabel] == "":
		return groupAsked{wrong: fmt.Sprintf("the annotation %s: %s needs the label %s, which pods of a JobSet have", GroupAnnotation, LedByJobSet, JobSetLabel)}
	}
	return groupAsked{leader: leader}
}
