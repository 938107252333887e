package snapshots

import (
	"context"
	"fmt"
	"time"

	clientset "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned"
	snapshotscheme "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/scheme"
	snapshotinformers "github.com/kubernetes-csi/external-snapshotter/client/v8/informers/externalversions"
	commoncontroller "github.com/kubernetes-csi/external-snapshotter/v8/pkg/common-controller"
	"github.com/kubernetes-csi/external-snapshotter/v8/pkg/metrics"
	sidecarcontroller "github.com/kubernetes-csi/external-snapshotter/v8/pkg/sidecar-controller"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifepod/lifepod/cluster/localvolume"
	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/node/localdriver"
)

type Config struct {
	Loopback  *rest.Config // of the API server
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // must not be started before the first Start
	Keys      *pki.Folder                     // the API server's credentials at nodes
	// Local says that the cluster's nodes run the driver local.csi.lifepod.dev.
	Local bool
}

// As external-snapshotter's flags have them, but that what failed is tried again sooner at most.
const (
	resync             = 15 * time.Minute
	retryFirst         = time.Second
	retryMost          = time.Minute
	deadline           = 10 * time.Minute // of a call: a snapshot may be a copy of all of a volume
	threads            = 4
	namePrefix         = "snapshot"
	wholeUID           = -1
	className          = "local"
	defaultClass       = "snapshot.storage.kubernetes.io/is-default-class"
	distributed        = false
	keepMode           = true // a snapshot of a block device does not become a file system unasked
	groups             = false
	withMetadata       = false
	groupSnapshotNames = "groupsnapshot"
)

func init() {
	utilruntime.Must(snapshotscheme.AddToScheme(scheme.Scheme)) // its events name the objects
}

// Run is the controllers until ctx ends.
func Run(ctx context.Context, c Config) error {
	config := rest.CopyConfig(c.Loopback)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, "" // custom resources know no other
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(c.Loopback)
	if err != nil {
		return err
	}
	factory := snapshotinformers.NewSharedInformerFactory(client, resync)
	api, core := factory.Snapshot().V1(), c.Informers.Core().V1()
	common := commoncontroller.NewCSISnapshotCommonController(client, c.Client,
		api.VolumeSnapshots(), api.VolumeSnapshotContents(), api.VolumeSnapshotClasses(), nil, nil, nil,
		core.PersistentVolumeClaims(), core.PersistentVolumes(), nil, metrics.NewMetricsManager(), resync,
		limiter(), limiter(), limiter(), limiter(), distributed, keepMode, groups)
	run := []func(){func() { common.Run(threads, ctx.Done(), nil) }}
	if c.Local {
		nodes := localvolume.NewNodes(c.Keys, core.Nodes().Lister())
		defer func() { _ = nodes.Close() }()
		local := sidecarcontroller.NewCSISnapshotSideCarController(client, c.Client, localdriver.Name,
			api.VolumeSnapshotContents(), api.VolumeSnapshotClasses(), taker{nodes}, nil, deadline, resync,
			namePrefix, wholeUID, groupSnapshotNames, wholeUID, withMetadata, limiter(), groups, nil, nil, limiter())
		run = append(run, func() { local.Run(threads, ctx.Done(), nil) })
	}
	c.Informers.Start(ctx.Done())
	if err := ensureResources(ctx, objects); err != nil {
		return err
	}
	if err := c.ensureClass(ctx, objects); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for _, f := range run {
		go f()
	}
	<-ctx.Done()
	return nil
}

func limiter() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, retryMost)
}

// ensureClass makes the default VolumeSnapshotClass of local volumes, unless it is there.
func (c Config) ensureClass(ctx context.Context, objects dynamic.Interface) error {
	if !c.Local {
		return nil
	}
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion":     group + "/v1",
		"kind":           "VolumeSnapshotClass",
		"metadata":       map[string]any{"name": className, "annotations": map[string]any{defaultClass: "true"}},
		"driver":         localdriver.Name,
		"deletionPolicy": "Delete",
	}}
	_, err := objects.Resource(classes).Create(ctx, class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make VolumeSnapshotClass %q: %w", className, err)
	}
	return nil
}
