package podsapi

import (
	"context"
	"path/filepath"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/pods/v1alpha1"

	"github.com/lifepod/lifepod/node/localapi"
)

// Socket is the name of the socket in its folder.
const Socket = "pods-api.sock"

// Listen makes the socket in a folder. What it returns serves until ctx ends.
func (s *Server) Listen(dir string) (serve func(context.Context) error, err error) {
	return localapi.Listen(filepath.Join(dir, Socket), func(to grpc.ServiceRegistrar) { api.RegisterPodsServer(to, s) })
}
