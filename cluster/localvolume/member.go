package localvolume

import (
	"context"
	"fmt"
	"log/slog"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/lifepod/lifepod/node/localdriver"
)

// Member is the CSI driver of volumes on the disk of a member. It serves if the cluster
// has its CSIDriver, as lifepod up makes it: nobody else's cluster calls it, and there its name in
// the CSINode would only say that there are volumes to be had.
type Member struct {
	*localdriver.Driver
	Known  <-chan struct{} // closed when the cluster knows the node
	Client func() (kubernetes.Interface, error)
	Log    *slog.Logger
}

// Serve begins when there is a CSIDriver, and at once where there are volumes already: their pods
// have to be able to end.
func (v Member) Serve(ctx context.Context, socket string) error {
	if !v.HasVolumes() {
		if err := v.await(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return v.Driver.Serve(ctx, socket)
}

// await returns when there is a CSIDriver, or when ctx has ended.
func (v Member) await(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-v.Known:
	}
	client, err := v.Client()
	if err != nil {
		return err
	}
	v.Log.InfoContext(ctx, "volumes on this machine's disk are served if the cluster has a CSIDriver for them", "driver", localdriver.Name)
	drivers, one := client.StorageV1().CSIDrivers(), fields.OneTermEqualSelector(metav1.ObjectNameField, localdriver.Name).String()
	list := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = one
			return drivers.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = one
			return drivers.Watch(ctx, o)
		},
	}
	there := func(e watch.Event) (bool, error) { return e.Type == watch.Added, nil }
	_, err = watchtools.UntilWithSync(ctx, cache.ToListWatcherWithWatchListSemantics(list, client), &storagev1.CSIDriver{}, nil, there)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("wait for CSIDriver: %w", err)
	}
	return nil
}
