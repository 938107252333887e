package run

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

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
