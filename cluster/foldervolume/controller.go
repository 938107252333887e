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
	"github.com/lifepod/lifepod/cluster/queue"
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
	queue.Work(ctx, control.queue, 1, control.sync, func(name string, err error) {
		c.Log.Warn("can't delete a local volume", "name", name, "err", err)
	})
	return nil
}
