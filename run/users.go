package run

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// usersOf are the IDs of which a pod with users of its own gets a block: of those that subuid and subgid below the folder
// etc give the user kubelet, as on a node (A-SEC-6). For other pods the files need not be right.
func usersOf(pod *v1.Pod, etc string) (criconfig.UserNamespaceBlocks, error) {
	if pod.Spec.HostUsers == nil || *pod.Spec.HostUsers {
		return criconfig.UserNamespaceBlocks{}, nil
	}
	return criconfig.ConfiguredUserNamespaces(etc, criconfig.UserNamespaceLength, 1)
}
