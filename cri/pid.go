package cri

import (
	"context"
	"encoding/json"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PID is the machine's number of a container's first process, 0 if the runtime
// doesn't say: CRI leaves what a verbose status has in it to the runtime.
func PID(ctx context.Context, runtime runtimeapi.RuntimeServiceClient, containerID string) int {
	status, err := runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: containerID, Verbose: true})
	if err != nil {
		return 0
	}
	var info struct{ PID int }
	if json.Unmarshal([]byte(status.GetInfo()["info"]), &info) != nil {
		return 0
	}
	return info.PID
}
