package lifecycle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// OnlyProgress says whether a status differs from the one that was told before by nothing but
// steps of a start, such as a sandbox that is ready or an init container that has completed, or of the restart
// of all containers. It may then be left out: the statuses that follow say the same and more (A-STAT-12).
// Everything else has to be reported at once. before is the API's own if the node has reported nothing yet. The pod is
// deleted if somebody has asked for its end: its last status has the ends of all containers.
func OnlyProgress(before, status *v1.PodStatus, deleted bool) bool {
	inRestartAll := isTrue(before.Conditions, v1.AllContainersRestarting) && isTrue(status.Conditions, v1.AllContainersRestarting)
	return phaseIsProgress(before.Phase, status.Phase) &&
		before.Reason == status.Reason && before.Message == status.Message &&
		(before.StartTime == nil || deleted || samePod(before, status)) &&
		conditionsAreProgress(before.Conditions, status.Conditions) &&
		containersAreProgress(before.InitContainerStatuses, status.InitContainerStatuses, shownIn{init: true, endsFollow: inRestartAll || deleted}) &&
		containersAreProgress(before.ContainerStatuses, status.ContainerStatuses, shownIn{endsFollow: inRestartAll || deleted}) &&
		containersAreProgress(before.EphemeralContainerStatuses, status.EphemeralContainerStatuses, shownIn{endsFollow: deleted})
}

// AwaitsGroup says whether the member whose status it is has come to the barrier of its group since the one that was told
// before. What follows comes when all members are there, and says all this and more (A-STAT-12).
func AwaitsGroup(before, status *v1.PodStatus) bool {
	return !showsBarrier(before) && showsBarrier(status)
}

// RestartsWithGroup says whether a pod that has the annotations shown, and is to have that status and others, restarts for another attempt
// of a group whose nodes tell each other: no node waits for its pod to show that (B-GRP-26).
func RestartsWithGroup(shown, others map[string]string, status *v1.PodStatus) bool {
	was, mode := groupAttemptAndMode(shown[MemberAttemptAnnotation])
	is, itsMode := groupAttemptAndMode(others[MemberAttemptAnnotation])
	return was != nil && is != nil && *was < *is && mode == itsMode && mode%2 == 1 &&
		(others[MemberBeganAnnotation] == "" || slices.ContainsFunc(status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Waiting != nil }))
}

func showsBarrier(status *v1.PodStatus) bool {
	return slices.ContainsFunc(status.ContainerStatuses, func(c v1.ContainerStatus) bool {
		return c.State.Waiting != nil && c.State.Waiting.Reason == reasonWaitingForGroup
	})
}

// phaseIsProgress: a pod whose containers all restart is Pending for a moment (B-RAC-14).
func phaseIsProgress(before, now v1.PodPhase) bool { return now == v1.PodPending || now == before }

// samePod compares what a start does not change.
func samePod(before, now *v1.PodStatus) bool {
	return before.ObservedGeneration == now.ObservedGeneration &&
		equality.Semantic.DeepEqual(before.Resources, now.Resources) &&
		equality.Semantic.DeepEqual(before.AllocatedResources, now.AllocatedResources)
}

func conditionsAreProgress(before, now []v1.PodCondition) bool {
	for _, list := range [][]v1.PodCondition{before, now} { // a condition may have gone
		for _, c := range list {
			if !conditionIsProgress(c.Type, Condition(before, c.Type), Condition(now, c.Type)) {
				return false
			}
		}
	}
	return true
}

// conditionIsProgress compares one condition; nil: there is none.
func conditionIsProgress(t v1.PodConditionType, before, now *v1.PodCondition) bool {
	was, is := before != nil && before.Status == v1.ConditionTrue, now != nil && now.Status == v1.ConditionTrue
	switch t {
	case v1.PodScheduled, v1.PodReadyToStartContainers, v1.PodInitialized:
		return true
	case v1.PodReady, v1.ContainersReady: // the message names the containers that are not, step by step
		return was == is
	case v1.AllContainersRestarting:
		return was || !is
	case v1.PodResizePending, v1.PodResizeInProgress, v1.DisruptionTarget:
		return equality.Semantic.DeepEqual(before, now)
	}
	return true // others write it
}

// shownIn is in which circumstances a container's status is told.
type shownIn struct {
	init       bool // the container is an init container or a sidecar
	endsFollow bool // a status that follows soon has all ends: after the restart of all containers, or the pod's end
}

func containersAreProgress(before, now []v1.ContainerStatus, in shownIn) bool {
	for i := range now {
		var old v1.ContainerStatus
		if at := slices.IndexFunc(before, func(c v1.ContainerStatus) bool { return c.Name == now[i].Name }); at >= 0 {
			old = before[at]
		}
		if !containerIsProgress(&old, &now[i], in) {
			return false
		}
	}
	return true
}

// containerIsProgress: a start is. An end is not, but for that of an init container that has completed, and those of
// which the restart of all containers, or the pod's deletion, consists.
func containerIsProgress(before, now *v1.ContainerStatus, in shownIn) bool {
	if end := now.State.Terminated; end != nil {
		return in.endsFollow || showsEnd(before, end) || in.init && end.ExitCode == 0
	}
	if end := now.LastTerminationState.Terminated; end != nil && end.Reason != reasonRestartingAll && !showsEnd(before, end) {
		return false
	}
	if wait := now.State.Waiting; wait != nil {
		return waitIsProgress(before.State.Waiting, wait)
	}
	return before.ContainerID != now.ContainerID || before.State.Running == nil || sameInstance(before, now)
}

// showsEnd says whether a status has this end of a container.
func showsEnd(status *v1.ContainerStatus, end *v1.ContainerStateTerminated) bool {
	return equality.Semantic.DeepEqual(status.State.Terminated, end) || equality.Semantic.DeepEqual(status.LastTerminationState.Terminated, end)
}

// waitIsProgress: what containers wait for at every start is.
func waitIsProgress(before, now *v1.ContainerStateWaiting) bool {
	switch now.Reason {
	case "ContainerCreating", "PodInitializing", reasonRestartingAll, reasonWaitingForGroup:
		return true
	}
	return before != nil && *before == *now
}

// sameInstance compares what else may change while a container runs.
func sameInstance(before, now *v1.ContainerStatus) bool {
	return before.Ready == now.Ready && before.RestartCount == now.RestartCount &&
		equality.Semantic.DeepEqual(before.Resources, now.Resources) &&
		equality.Semantic.DeepEqual(before.AllocatedResources, now.AllocatedResources) &&
		equality.Semantic.DeepEqual(before.AllocatedResourcesStatus, now.AllocatedResourcesStatus)
}
