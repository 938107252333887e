package cluster

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/lifepod/lifepod/cluster/addons"
)

// runAddons keeps the cluster in step with the folders of manifests.
func (l *layout) runAddons(ctx context.Context, loopback *rest.Config, client kubernetes.Interface) error {
	folders := []string{l.file("manifests")}
	if err := os.MkdirAll(folders[0], 0o700); err != nil {
		return fmt.Errorf("folder of add-ons: %w", err)
	}
	if l.Manifests != "" {
		folders = append(folders, l.Manifests)
	}
	objects, err := dynamic.NewForConfig(loopback)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	return addons.Run(ctx, addons.Config{Folders: folders, Client: client, Dynamic: objects, Mapper: mapper, Several: l.Etcd.Given(), Log: l.Log})
}
