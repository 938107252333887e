package csi

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// syncWait is how long a lookup waits for the first reading.
const syncWait = 5 * time.Second

// objects are the CSIDrivers of the cluster. They are watched from the moment a driver registers
// or one is asked for: most nodes never see any.
type objects struct {
	store    cache.Store
	informer cache.Controller
	wanted   chan struct{} // closed when they are wanted
	once     sync.Once
}

// newObjects makes those that are watched by run; changed is called after each change.
func newObjects(client kubernetes.Interface, log *slog.Logger, changed func()) *objects {
	var logged sync.Once
	note := func(ctx context.Context, err error) {
		if err != nil && ctx.Err() == nil {
			logged.Do(func() {
				log.WarnContext(ctx, "CSIDrivers are not watched; tried again until they are", "err", err)
			})
		}
	}
	list := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			all, err := client.StorageV1().CSIDrivers().List(ctx, o)
			note(ctx, err)
			return all, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := client.StorageV1().CSIDrivers().Watch(ctx, o)
			note(ctx, err)
			return events, err
		},
	}, client)
	o := &objects{wanted: make(chan struct{})}
	o.store, o.informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: list, ObjectType: &storagev1.CSIDriver{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
		},
	})
	return o
}

func (o *objects) want() { o.once.Do(func() { close(o.wanted) }) }

func (o *objects) run(ctx context.Context) {
	select {
	case <-o.wanted:
		o.informer.RunWithContext(ctx)
	case <-ctx.Done():
	}
}

// known is what is known of a driver by now; nil: nothing.
func (o *objects) known(name string) *storagev1.CSIDriver {
	object, _, _ := o.store.GetByKey(name) // a store without indexes has no errors
	known, _ := object.(*storagev1.CSIDriver)
	return known
}

// Object is the CSIDriver of a driver, nil when there is none. It waits a moment for the first
// reading, and must not be changed.
func (r *Registry) Object(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
	r.objects.want()
	timer := time.NewTimer(syncWait)
	defer timer.Stop()
	select {
	case <-r.objects.informer.HasSyncedChecker().Done():
		return r.objects.known(name), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("look up CSIDriver %s: %w", name, ctx.Err())
	case <-timer.C:
		return nil, fmt.Errorf("look up CSIDriver %s: the API server was not reached yet", name)
	}
}

// Known is the CSIDriver of a driver as far as is known by now; nil when there is none. It must
// not be changed.
func (r *Registry) Known(name string) *storagev1.CSIDriver { return r.objects.known(name) }
