package podresources

import (
	"context"
	"path/filepath"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"

	"github.com/lifepod/lifepod/node/localapi"
)

// Socket is the name of the socket in its folder.
const Socket = "kubelet.sock"

// Listen makes the socket in a folder, in the place of that of an agent before. What it returns serves
// until ctx ends.
func (s *Server) Listen(dir string) (serve func(context.Context) error, err error) {
	return localapi.Listen(filepath.Join(dir, Socket), func(to grpc.ServiceRegistrar) {
		api.RegisterPodResourcesListerServer(to, s)
		v1alpha1.RegisterPodResourcesListerServer(to, alpha{server: s})
	})
}
