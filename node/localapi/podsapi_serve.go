package localapi

import (
	"context"
	"path/filepath"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

// PodsAPISocket is the name of the socket in its folder.
const PodsAPISocket = "pods-api.sock"

// Listen makes the socket in a folder. What it returns serves until ctx ends.
func (s *PodsAPI) Listen(dir string) (serve func(context.Context) error, err error) {
	return Listen(filepath.Join(dir, PodsAPISocket), func(to grpc.ServiceRegistrar) { api.RegisterPodsServer(to, s) })
}
