package cluster

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/lifepod/lifepod/cluster/addons"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// runAddons keeps the cluster in step with the folders of manifests.
func (r *run) runAddons(ctx context.Context) error {
	folders := []string{r.file("manifests")}
	if err := rootfolder.Ensure(folders[0], 0o700); err != nil {
		return fmt.Errorf("folder of add-ons: %w", err)
	}
	if r.Manifests != "" {
		folders = append(folders, r.Manifests)
	}
	objects, err := dynamic.NewForConfig(r.server.InProcess())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(r.client.Discovery()))
	return addons.Run(ctx, addons.Config{Folders: folders, Client: r.client, Dynamic: objects, Mapper: mapper, Several: r.Etcd.Given(), Log: r.Log})
}
