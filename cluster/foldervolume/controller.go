package foldervolume

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifepod/lifepod/cluster/localvolume"
)

type Config struct {
	// Dir has the folders of volumes, on the disk of the node.
	Dir string
	// Node is the name of this node, and its label kubernetes.io/hostname.
	Node string

	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // may be started already or not
	Log       *slog.Logger
}

// What fails is tried again after retryFirst, then ever less often until retryMost.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// controller works on the volumes of a queue, by name.
type controller struct {
	Config
	volumes  corelisters.PersistentVolumeLister
	queue    workqueue.TypedRateLimitingInterface[string]
	recorder record.EventRecorder
}

// Run deletes volumes until ctx ends.
func Run(ctx context.Context, c Config) error {
	volumes := c.Informers.Core().V1().PersistentVolumes()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: c.Client.CoreV1().Events("")})
	control := &controller{
		Config: c, volumes: volumes.Lister(),
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)),
		recorder: broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: localvolume.Folders, Host: c.Node}),
	}
	add := func(object any) {
		if volume, ok := object.(*v1.PersistentVolume); ok && control.here(volume) {
			control.queue.Add(volume.Name)
		}
	}
	registration, err := volumes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }})
	if err != nil {
		return fmt.Errorf("watch volumes: %w", err)
	}
	defer func() { _ = volumes.Informer().RemoveEventHandler(registration) }()
	c.Informers.Start(ctx.Done())
	defer context.AfterFunc(ctx, control.queue.ShutDown)()
	for control.next(ctx) {
	}
	return nil
}

// next works on one volume; false after the last.
func (c *controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	if err := c.sync(ctx, name); err != nil && ctx.Err() == nil {
		c.Log.Warn("can't delete a local volume", "name", name, "err", err)
		c.queue.AddRateLimited(name)
	} else {
		c.queue.Forget(name)
	}
	return true
}
