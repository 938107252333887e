// Package still is a container runtime of which a Node tells that it is ready, and nothing else.
package still

import (
	"context"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/node/register"
)

// Name begins the IDs of its containers.
const Name = "lifepod-sim"

// Runtime is what a Node tells of its runtime: it is ready, and never changes.
type Runtime struct{}

// Status says that the runtime and its network are ready.
func (Runtime) Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
		}},
		RuntimeHandlers: []*runtimeapi.RuntimeHandler{{Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true}}},
		Features:        &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}, nil
}

// Version says which runtime it is.
func (Runtime) Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: Name, RuntimeVersion: register.Version, RuntimeApiVersion: "v1"}, nil
}

// ListImages says that there are none: which images a node has is a scenario's affair, and one of each pod's.
func (Runtime) ListImages(context.Context, *runtimeapi.ListImagesRequest, ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{}, nil
}
