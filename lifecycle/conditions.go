package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// conditions returns the conditions that the node owns (A-COND-1), for the calculated
// phase (the API may still show the previous one: B-FIN-3), and all others unchanged.
func conditions(s *step, status *v1.PodStatus, phase v1.PodPhase) []v1.PodCondition {
	others := othersConditions(s.pod.Status.Conditions)
	readyToStart := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: boolStatus(s.startable())}
	initialized := initializedCondition(s, status, phase)
	containersReady := containersReadyCondition(s, phase)
	closed := closedGates(s.pod.Spec.ReadinessGates, append(slices.Clone(others), readyToStart, initialized))
	list := []v1.PodCondition{
		readyToStart,
		initialized,
		readyCondition(containersReady, closed),
		containersReady,
		{Type: v1.PodScheduled, Status: v1.ConditionTrue},
	}
	if s.round.Ever || s.restartAllRule {
		list = append(list, restartingCondition(s, phase))
	}
	for i := range list {
		list[i].ObservedGeneration = s.observedGeneration() // A-COND-11
		list[i].LastTransitionTime = *seconds(s.wall)
		if old := condition(s.kept.Reported.Conditions, list[i].Type); old != nil && old.Status == list[i].Status {
			list[i].LastTransitionTime = old.LastTransitionTime // A-COND-2
		}
	}
	if own := disruptionCondition(s, phase); own != nil {
		own[0].ObservedGeneration, own[0].LastTransitionTime = s.observedGeneration(), *seconds(s.wall)
		if old := condition(s.kept.Reported.Conditions, v1.DisruptionTarget); old != nil && Terminal(s.kept.Reported.Phase) {
			own[0].LastTransitionTime = old.LastTransitionTime
		}
		others = slices.DeleteFunc(others, func(c v1.PodCondition) bool { return c.Type == v1.DisruptionTarget })
		list = append(list, own...)
	}
	return slices.Concat(resizeConditions(s, phase), list, others)
}

func boolStatus(b bool) v1.ConditionStatus {
	if b {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

// initializedCondition follows A-COND-4; once True it stays True.
func initializedCondition(s *step, status *v1.PodStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue}
	if phase == v1.PodSucceeded {
		c.Reason = "PodCompleted"
		return c
	}
	var incomplete []string
	for _, init := range s.inits() {
		if !init.through() {
			incomplete = append(incomplete, init.spec.Name)
		}
	}
	if len(incomplete) == 0 || isTrue(s.kept.Reported.Conditions, v1.PodInitialized) || anyRegularRan(status) {
		return c
	}
	c.Status, c.Reason = v1.ConditionFalse, "ContainersNotInitialized"
	c.Message = fmt.Sprintf("containers with incomplete status: %v", incomplete)
	return c
}

func anyRegularRan(status *v1.PodStatus) bool {
	for _, c := range status.ContainerStatuses {
		if c.State.Running != nil || (c.State.Terminated != nil && c.ContainerID != "") {
			return true
		}
	}
	return false
}

// containersReadyCondition follows A-COND-5: sidecars first, then regular containers.
func containersReadyCondition(s *step, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: v1.ContainersReady, Status: v1.ConditionFalse}
	switch phase {
	case v1.PodSucceeded:
		c.Reason = "PodCompleted"
		return c
	case v1.PodFailed:
		c.Reason = "PodFailed"
		return c
	}
	var unready []string
	for _, init := range s.inits() {
		if init.kind == sidecarContainer && !init.ready() {
			unready = append(unready, init.spec.Name)
		}
	}
	for _, regular := range s.regulars() {
		if !regular.ready() {
			unready = append(unready, regular.spec.Name)
		}
	}
	if len(unready) == 0 {
		c.Status = v1.ConditionTrue
		return c
	}
	c.Reason = "ContainersNotReady"
	c.Message = fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))
	return c
}

// OwnsCondition says whether the node owns a condition, so that ConditionSet cannot
// change it (A-COND-1).
func OwnsCondition(t v1.PodConditionType) bool {
	switch t {
	case v1.PodScheduled, v1.PodReadyToStartContainers, v1.PodInitialized, v1.ContainersReady, v1.PodReady,
		v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting:
		return true
	}
	return false
}

// othersConditions returns the conditions that the node does not own, which are copied
// into the status unchanged (A-COND-1).
func othersConditions(all []v1.PodCondition) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(all), func(c v1.PodCondition) bool { return OwnsCondition(c.Type) })
}
