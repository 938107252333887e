package localvolume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/queue"
	"github.com/lifepod/lifepod/cluster/reclaim"
	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/node/localdriver"
)

type Config struct {
	Client    kubernetes.Interface
	Dynamic   dynamic.Interface               // for snapshots, which are custom resources
	Informers informers.SharedInformerFactory // may be started already or not
	Keys      *pki.Folder                     // the API server's credentials at nodes
	Log       *slog.Logger
}

// What fails is tried again after retryFirst, then ever less often until retryMost.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

const (
	// workers is how many claims and volumes are worked on at a time: a copy takes as long
	// as its data is large, and a node may not answer.
	workers = 8
	// shortCall is the deadline of calls that copy nothing, longCall that of the others. A
	// driver goes on after it, and the next try finds what it has done.
	shortCall, longCall = 30 * time.Second, 10 * time.Minute
)

// item is a claim, or a volume, which has no namespace.
type item struct{ namespace, name string }

// controller works on the items of a queue.
type controller struct {
	Config
	drivers  drivers
	claims   corelisters.PersistentVolumeClaimLister
	volumes  corelisters.PersistentVolumeLister
	classes  storagelisters.StorageClassLister
	csiNodes storagelisters.CSINodeLister
	queue    workqueue.TypedRateLimitingInterface[item]
	recorder record.EventRecorder
	measure  mailbox.Signal // capacities are to be measured
	making   making
}

// Run makes the default class and then makes, expands and deletes volumes until ctx ends.
func Run(ctx context.Context, c Config) error {
	if err := ensureObjects(ctx, c.Client); err != nil {
		return errors.Join(err, ctx.Err())
	}
	core, storage := c.Informers.Core().V1(), c.Informers.Storage().V1()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: c.Client.CoreV1().Events("")})
	nodes := NewNodes(c.Keys, core.Nodes().Lister())
	defer func() { _ = nodes.Close() }()
	control := &controller{
		Config: c, drivers: nodes, claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		classes: storage.StorageClasses().Lister(), csiNodes: storage.CSINodes().Lister(), measure: mailbox.NewSignal(),
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](retryFirst, retryMost)),
		recorder: broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: localdriver.Name}),
	}
	synced := []cache.InformerSynced{core.Nodes().Informer().HasSynced}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		core.PersistentVolumeClaims().Informer(): control.works(),
		core.PersistentVolumes().Informer():      control.works(),
		storage.StorageClasses().Informer():      control.measures(),
		storage.CSINodes().Informer():            control.measures(),
	} {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("watch claims and volumes: %w", err)
		}
		defer func() { _ = informer.RemoveEventHandler(registration) }()
		synced = append(synced, informer.HasSynced)
	}
	c.Informers.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), synced...) {
		control.work(ctx)
	}
	return nil
}

func (c *controller) work(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.publishCapacities(ctx) })
	running.Go(func() { (&orphans{controller: c}).run(ctx) })
	queue.Work(ctx, c.queue, workers, c.sync, func(i item, err error) {
		c.Log.Warn("can't provide a local volume", "namespace", i.namespace, "name", i.name, "err", err)
	})
	running.Wait()
}

func (c *controller) sync(ctx context.Context, i item) error {
	if i.namespace == "" {
		return c.syncVolume(ctx, i)
	}
	claim, err := c.claims.PersistentVolumeClaims(i.namespace).Get(i.name)
	switch {
	case err != nil || claim.DeletionTimestamp != nil:
		return reclaim.IgnoreMissing(err)
	case claim.Spec.VolumeName == "":
		return c.provision(ctx, claim)
	}
	return c.expand(ctx, claim)
}

// works puts what changes into the queue.
func (c *controller) works() cache.ResourceEventHandler {
	add := func(object any) {
		switch o := object.(type) {
		case *v1.PersistentVolumeClaim:
			c.queue.Add(item{o.Namespace, o.Name})
		case *v1.PersistentVolume:
			c.queue.Add(item{name: o.Name})
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }}
}

// measures has the capacities measured.
func (c *controller) measures() cache.ResourceEventHandler {
	soon := func(any) { c.measure.Send() }
	return cache.ResourceEventHandlerFuncs{AddFunc: soon, UpdateFunc: func(_, object any) { soon(object) }, DeleteFunc: soon}
}
