package nodes

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// without answers what the API asks of a runtime's containers: there are none.
type without struct{}

// The texts have no colon: client-go would take one for YAML, decode it, and lose it.
var (
	errNoProcesses = errors.New("pods on simulated nodes have no processes, so that exec and attach are not possible")
	errNoPorts     = errors.New("pods on simulated nodes have no network, so that port-forward is not possible")
	errNoRuntime   = errors.New("simulated nodes have no container runtime")
)

// Exec refuses.
func (without) Exec(context.Context, *runtimeapi.ExecRequest, ...grpc.CallOption) (*runtimeapi.ExecResponse, error) {
	return nil, errNoProcesses
}

// ExecSync refuses.
func (without) ExecSync(context.Context, *runtimeapi.ExecSyncRequest, ...grpc.CallOption) (*runtimeapi.ExecSyncResponse, error) {
	return nil, errNoProcesses
}

// Attach refuses.
func (without) Attach(context.Context, *runtimeapi.AttachRequest, ...grpc.CallOption) (*runtimeapi.AttachResponse, error) {
	return nil, errNoProcesses
}

// PortForward refuses.
func (without) PortForward(context.Context, *runtimeapi.PortForwardRequest, ...grpc.CallOption) (*runtimeapi.PortForwardResponse, error) {
	return nil, errNoPorts
}

// ListPodSandbox finds one for a pod, so that PortForward says why it is not possible, and refuses to list all.
func (without) ListPodSandbox(_ context.Context, in *runtimeapi.ListPodSandboxRequest, _ ...grpc.CallOption) (*runtimeapi.ListPodSandboxResponse, error) {
	if len(in.GetFilter().GetLabelSelector()) == 0 {
		return nil, errNoRuntime
	}
	return &runtimeapi.ListPodSandboxResponse{Items: []*runtimeapi.PodSandbox{{Id: "simulated"}}}, nil
}

// ListContainers refuses.
func (without) ListContainers(context.Context, *runtimeapi.ListContainersRequest, ...grpc.CallOption) (*runtimeapi.ListContainersResponse, error) {
	return nil, errNoRuntime
}

// CheckpointContainer refuses.
func (without) CheckpointContainer(context.Context, *runtimeapi.CheckpointContainerRequest, ...grpc.CallOption) (*runtimeapi.CheckpointContainerResponse, error) {
	return nil, errNoRuntime
}
