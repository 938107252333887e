package admit

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// longestFileName is what file systems of Linux take, in bytes.
const longestFileName = 255

// checkNames refuses a pod that can't have a folder for its logs: no sandbox could ever be made for it (A-ADM-9).
func checkNames(pod *v1.Pod, _ Host) *Refusal {
	excess := len(lifecycle.PodLogFolder(pod)) - longestFileName
	if excess <= 0 {
		return nil
	}
	have := len(pod.Namespace) + len(pod.Name)
	return &Refusal{Reason: "NameTooLong", Message: fmt.Sprintf(
		"namespace and name have %d characters together, %d is the max: the folder of the pod's logs is called <namespace>_<name>_<uid>, and no file name is longer than %d",
		have, have-excess, longestFileName)}
}
