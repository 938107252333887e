package agent

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// runningFact is what a running container's status adds to what is known (A-CST-4, A-CST-16).
func runningFact(status *runtimeapi.ContainerStatus) lifecycle.ContainerRunning {
	fact := lifecycle.ContainerRunning{
		ContainerID: status.GetId(),
		StartedAt:   cri.Time(status.GetStartedAt()),
		Image:       status.GetImage().GetImage(),
		ImageRef:    status.GetImageRef(),
		Resources:   actualResources(status),
	}
	if user := status.GetUser().GetLinux(); user != nil {
		fact.User = &v1.ContainerUser{Linux: &v1.LinuxContainerUser{
			UID: user.GetUid(), GID: user.GetGid(), SupplementalGroups: user.GetSupplementalGroups(),
		}}
	}
	return fact
}
