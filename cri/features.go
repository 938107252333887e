package cri

import (
	"context"
	"encoding/json"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Features are what a runtime says it can do beyond what every one can.
type Features struct {
	// SupplementalGroupsPolicy says that it knows the policy Strict (A-SEC-3).
	SupplementalGroupsPolicy bool
	// Handlers are those of RuntimeClasses, by name; the empty name is the
	// default one. A runtime too old to say has none.
	Handlers map[string]HandlerFeatures
}

// HandlerFeatures are those of one handler.
type HandlerFeatures struct {
	RecursiveReadOnly bool // A-VOL-2
	UserNamespaces    bool // A-SEC-6
}

// Features asks the runtime; it is not asked again, they don't change while it runs.
func (c *Client) Features(ctx context.Context) (Features, error) {
	status, err := Again(ctx, func(ctx context.Context) (*runtimeapi.StatusResponse, error) {
		return c.Runtime.Status(ctx, &runtimeapi.StatusRequest{})
	})
	if err != nil {
		return Features{}, fmt.Errorf("ask the container runtime for its features: %s", Text(err))
	}
	out := Features{SupplementalGroupsPolicy: status.GetFeatures().GetSupplementalGroupsPolicy(), Handlers: map[string]HandlerFeatures{}}
	for _, h := range status.GetRuntimeHandlers() {
		out.Handlers[h.GetName()] = HandlerFeatures{
			RecursiveReadOnly: h.GetFeatures().GetRecursiveReadOnlyMounts(),
			UserNamespaces:    h.GetFeatures().GetUserNamespaces(),
		}
	}
	return out, nil
}

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
