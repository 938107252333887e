package run

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// reasonStopped is the reason of a pod's end that was asked for.
const reasonStopped = "Stopped"

// causeOf is what the exit code of a pod comes from.
func causeOf(pod *v1.Pod, end lifecycle.End, status *v1.PodStatus) line {
	l := line{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Container: end.Container, Reason: cmp.Or(status.Reason, string(status.Phase))}
	if end.Cause == lifecycle.Deleted {
		l.Container, l.Reason = "", reasonStopped
	}
	return l
}

// exitCode is what the pod's end amounts to: 0 if it Succeeded, else the exit
// code of the container whose failure counts. One that was ended from outside
// has the code of who asked.
func exitCode(end lifecycle.End, phase v1.PodPhase, asked int) int {
	switch {
	case end.Cause == lifecycle.Deleted:
		return asked
	case end.Cause == lifecycle.NotAdmitted:
		return ExitError
	case phase == v1.PodSucceeded:
		return 0
	case end.ExitCode != 0:
		return int(end.ExitCode)
	}
	return 1 // failed without any container's doing
}
