package podlog

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// StatusOf is a container's status, nil if there is none yet.
func StatusOf(pod *v1.Pod, container string) *v1.ContainerStatus {
	for _, list := range [][]v1.ContainerStatus{
		pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// Instances are the restart counts of the instances whose log is wanted, the
// first of which there is a log is the one: of a container that waits to be
// restarted it is the last one. The errors are the kubelet's.
func Instances(pod *v1.Pod, container string, previous bool) ([]int, error) {
	status := StatusOf(pod, container)
	if status == nil {
		return nil, fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	}
	waiting, last, newest := status.State.Waiting, status.LastTerminationState.Terminated, int(status.RestartCount)
	switch {
	case previous && last == nil:
		return nil, fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous && (waiting == nil || status.ContainerID != "" && status.ContainerID != last.ContainerID):
		return []int{newest - 1}, nil // the newest runs, or has been created and is about to start: its log may be there, and is empty
	case last != nil && waiting != nil && newest > 0:
		return []int{newest, newest - 1}, nil
	case last == nil && waiting != nil:
		return nil, fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, waitsFor(waiting))
	}
	return []int{newest}, nil
}

func waitsFor(w *v1.ContainerStateWaiting) string {
	switch w.Reason {
	case "ErrImagePull":
		return "image can't be pulled"
	case "ImagePullBackOff":
		return "trying and failing to pull image"
	}
	return w.Reason
}

// Ended says that a pod's status knows of an instance's end. One that is just
// being started does not run yet either.
func Ended(pod *v1.Pod, container string, instance int) bool {
	status := StatusOf(pod, container)
	if status == nil {
		return false
	}
	waiting := status.State.Waiting
	return int(status.RestartCount) > instance || status.State.Terminated != nil ||
		waiting != nil && waiting.Reason == "CrashLoopBackOff"
}
