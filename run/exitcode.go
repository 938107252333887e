package run

import (
	v1 "k8s.io/api/core/v1"
)

// podExitCode is the exit code that the pod's end amounts to: 0 if it
// Succeeded, else that of the container that failed first.
func podExitCode(status v1.PodStatus) int {
	if status.Phase == v1.PodSucceeded {
		return 0
	}
	if code := firstFailure(status.ContainerStatuses); code != 0 {
		return code
	}
	if code := firstFailure(status.InitContainerStatuses); code != 0 {
		return code
	}
	return 1 // failed without any container's doing
}

func firstFailure(list []v1.ContainerStatus) int {
	var first *v1.ContainerStateTerminated
	for i := range list {
		t := list[i].State.Terminated
		if t == nil {
			t = list[i].LastTerminationState.Terminated
		}
		if t == nil || t.ExitCode == 0 || t.Reason == "ContainerStatusUnknown" {
			continue
		}
		if first == nil || t.FinishedAt.Before(&first.FinishedAt) {
			first = t
		}
	}
	if first == nil {
		return 0
	}
	return int(first.ExitCode)
}
