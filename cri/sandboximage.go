package cri

import (
	"context"
	"encoding/json"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// SandboxImage is the image that a sandbox is of; empty if the runtime does not tell.
func SandboxImage(ctx context.Context, runtime runtimeapi.RuntimeServiceClient, sandboxID string) string {
	answer, err := runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandboxID, Verbose: true})
	if err != nil {
		return ""
	}
	var info struct {
		Image string `json:"image"`
	}
	_ = json.Unmarshal([]byte(answer.GetInfo()["info"]), &info) // another runtime has another form, or none
	return info.Image
}
