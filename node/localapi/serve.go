package localapi

import (
	"context"
	"path/filepath"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

// PodResourcesSocket is the name of the socket in its folder.
const PodResourcesSocket = "kubelet.sock"

// Listen makes the socket in a folder, in the place of that of an agent before. What it returns serves
// until ctx ends.
func (s *PodResources) Listen(dir string) (serve func(context.Context) error, err error) {
	return Listen(filepath.Join(dir, PodResourcesSocket), func(to grpc.ServiceRegistrar) {
		api.RegisterPodResourcesListerServer(to, s)
		v1alpha1.RegisterPodResourcesListerServer(to, alpha{server: s})
	})
}
