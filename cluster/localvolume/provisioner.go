package localvolume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

// Config is what the provisioner needs.
type Config struct {
	// Dir has the folders of volumes, on the disk of the node; made with mode 0700.
	Dir string
	// Node is the name of this node; Hostname is its label kubernetes.io/hostname.
	Node, Hostname string

	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // may be started already or not
	Log       *slog.Logger
}

// What fails is tried again after retryFirst, then ever less often until retryMost.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// workers is how many claims and volumes are worked on at a time: the deletion of a
// large folder is not to delay a new one.
const workers = 2

// item is a claim, or a volume, which has no namespace.
type item struct{ namespace, name string }

// provisioner works on the items of a queue.
type provisioner struct {
	Config
	claims   corelisters.PersistentVolumeClaimLister
	volumes  corelisters.PersistentVolumeLister
	classes  storagelisters.StorageClassLister
	queue    workqueue.TypedRateLimitingInterface[item]
	recorder record.EventRecorder
}

// Run makes the default class and then makes and deletes volumes until ctx ends.
func Run(ctx context.Context, c Config) error {
	if err := ensureClass(ctx, c.Client, c.Hostname); err != nil {
		return errors.Join(err, ctx.Err())
	}
	claims, volumes := c.Informers.Core().V1().PersistentVolumeClaims(), c.Informers.Core().V1().PersistentVolumes()
	classes := c.Informers.Storage().V1().StorageClasses()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: c.Client.CoreV1().Events("")})
	p := &provisioner{
		Config: c, claims: claims.Lister(), volumes: volumes.Lister(), classes: classes.Lister(),
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](retryFirst, retryMost)),
		recorder: broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: Provisioner, Host: c.Node}),
	}
	for _, informer := range []cache.SharedIndexInformer{claims.Informer(), volumes.Informer()} {
		registration, err := informer.AddEventHandler(p.handler())
		if err != nil {
			return fmt.Errorf("watch claims and volumes: %w", err)
		}
		defer func() { _ = informer.RemoveEventHandler(registration) }()
	}
	classesSynced := classes.Informer().HasSynced
	c.Informers.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), claims.Informer().HasSynced, volumes.Informer().HasSynced, classesSynced) {
		p.work(ctx)
	}
	return nil
}

func (p *provisioner) work(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for p.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	p.queue.ShutDown()
	running.Wait()
}

// next works on one item; false after the last.
func (p *provisioner) next(ctx context.Context) bool {
	i, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(i)
	if err := p.sync(ctx, i); err != nil && ctx.Err() == nil {
		p.Log.Warn("can't provide a local volume", "namespace", i.namespace, "name", i.name, "err", err)
		p.queue.AddRateLimited(i)
	} else {
		p.queue.Forget(i)
	}
	return true
}

func (p *provisioner) sync(ctx context.Context, i item) error {
	if i.namespace == "" {
		return p.syncVolume(ctx, i.name)
	}
	return p.syncClaim(ctx, i)
}

// handler puts what has changed into the queue.
func (p *provisioner) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    p.enqueue,
		UpdateFunc: func(_, object any) { p.enqueue(object) },
		DeleteFunc: func(object any) {
			if i, ok := itemOf(object); ok {
				p.queue.Forget(i)
			}
		},
	}
}

func (p *provisioner) enqueue(object any) {
	if i, ok := itemOf(object); ok {
		p.queue.Add(i)
	}
}

func itemOf(object any) (item, bool) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return item{}, false
	}
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	return item{namespace, name}, err == nil
}
