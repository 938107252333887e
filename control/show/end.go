package show

import (
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// AllColumns are the heads of what AllRow returns.
var AllColumns = []string{"NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "PHASE", "EXIT", "ENDED"}

// AllRow is the row of a pod that may have ended: with its phase, the exit code of the first container that failed, and when
// that was. What is not known yet is <none>.
func AllRow(pod *v1.Pod, now time.Time) []string {
	code, ended := "<none>", "<none>"
	if lifecycle.Terminal(pod.Status.Phase) {
		exit, at := endOf(pod)
		ended = age(at, now) + " ago"
		if exit != nil {
			code = strconv.Itoa(int(exit.ExitCode))
		}
	}
	return append(Row(pod, now)[:6], string(pod.Status.Phase), code, ended)
}

// AllWideColumns are the heads of what AllWideRow returns.
var AllWideColumns = slices.Concat(AllColumns, WideColumns[6:], []string{"UID"})

// AllWideRow is AllRow with all that is known.
func AllWideRow(pod *v1.Pod, now time.Time) []string {
	return slices.Concat(AllRow(pod, now), WideRow(pod, now)[6:], []string{string(pod.UID)})
}

// endOf is the first exit that was a failure, sidecars left out, or the last one; nil: no container has run. at is the time of
// the pod's last change.
func endOf(pod *v1.Pod) (exit *v1.ContainerStateTerminated, at time.Time) {
	for _, c := range pod.Status.Conditions {
		at = later(at, c.LastTransitionTime.Time)
	}
	sidecar := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		sidecar[pod.Spec.InitContainers[i].Name] = lifecycle.IsSidecar(&pod.Spec.InitContainers[i])
	}
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			t := list[i].State.Terminated
			if t == nil {
				continue
			}
			at = later(at, t.FinishedAt.Time)
			if !sidecar[list[i].Name] && (exit == nil || t.ExitCode != 0 && (exit.ExitCode == 0 || t.FinishedAt.Before(&exit.FinishedAt))) {
				exit = t
			}
		}
	}
	return exit, at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
