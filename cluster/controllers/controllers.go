// Package controllers runs the controllers of the Kubernetes controller manager in
// this process, on one set of informers and one client.
package controllers

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/keyutil"
	metrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	config "k8s.io/kubernetes/pkg/controller/apis/config"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam"
	tokens "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/routes"
)

type Config struct {
	Loopback  *rest.Config
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	Keys      *pki.Folder
	// NodeGrace is how long a node may be silent before it is not ready; upstream's
	// 50 s if 0.
	NodeGrace time.Duration
	// Pods is the range of which each node gets its podCIDR, 256 addresses; Services
	// is the range of service addresses.
	Pods, Services netip.Prefix
}

// absent are the controllers that have nothing to do here: there is no cloud.
var absent = map[string]bool{
	names.ServiceAccountTokenController: true, // made by itself
	names.SELinuxWarningController:      true,
}

// tokenWorkers is how many Secrets get their tokens at once; upstream's default.
const tokenWorkers = 5

// mapperAge is how long the types of a new CustomResourceDefinition may be unknown
// to quota and garbage collection.
const mapperAge = 30 * time.Second

// Run runs the controllers until ctx ends and all have stopped.
func Run(ctx context.Context, c Config) error {
	context, err := c.context(ctx)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	if err := c.runTokens(ctx, &running); err != nil {
		return err
	}
	var list []app.Controller
	for name, descriptor := range app.NewControllerDescriptors() {
		if absent[name] || descriptor.RequiresSpecialHandling() {
			continue
		}
		controller, err := descriptor.BuildController(ctx, context)
		if err != nil {
			return fmt.Errorf("make controller %s: %w", name, err)
		}
		if controller != nil { // nil: its feature gate is off
			list = append(list, controller)
		}
	}
	context.InformerFactory.Start(ctx.Done())
	context.ObjectOrMetadataInformerFactory.Start(ctx.Done())
	close(context.InformersStarted)
	for _, controller := range list {
		running.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			controller.Run(ctx)
		})
	}
	running.Wait()
	return nil
}

func (c Config) context(ctx context.Context) (app.ControllerContext, error) {
	settings, err := c.settings()
	if err != nil {
		return app.ControllerContext{}, err
	}
	metadataClient, err := metadata.NewForConfig(c.Loopback)
	if err != nil {
		return app.ControllerContext{}, err
	}
	metadataInformers := metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, 0, metadatainformer.WithTransform(Trim))
	discovered := memory.NewMemCacheClient(c.Client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovered)
	go resetMapper(ctx, mapper)
	all := app.ControllerContext{
		ClientBuilder:                   oneClient{c: c, shared: &sharedDiscovery{CachedDiscoveryInterface: discovered}},
		InformerFactory:                 c.Informers,
		ObjectOrMetadataInformerFactory: informerfactory.NewInformerFactory(c.Informers, metadataInformers),
		ComponentConfig:                 settings,
		RESTMapper:                      mapper,
		InformersStarted:                make(chan struct{}),
		ResyncPeriod:                    func() time.Duration { return 0 },
		ControllerManagerMetrics:        metrics.NewControllerManagerMetrics("kube-controller-manager"),
	}
	ignored := map[schema.GroupResource]struct{}{}
	for _, r := range settings.GarbageCollectorController.GCIgnoredResources {
		ignored[schema.GroupResource{Group: r.Group, Resource: r.Resource}] = struct{}{}
	}
	all.GraphBuilder = garbagecollector.NewDependencyGraphBuilder(ctx, metadataClient, mapper, ignored, all.ObjectOrMetadataInformerFactory, all.InformersStarted)
	metrics.Register()
	return all, nil
}

func resetMapper(ctx context.Context, mapper *restmapper.DeferredDiscoveryRESTMapper) {
	ticker := time.NewTicker(mapperAge)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			mapper.Reset()
		}
	}
}

// settings are upstream's defaults with this cluster's keys.
func (c Config) settings() (config.KubeControllerManagerConfiguration, error) {
	settings, err := kcm.NewDefaultComponentConfig()
	if err != nil {
		return settings, fmt.Errorf("configure the controllers: %w", err)
	}
	settings.CSRSigningController.ClusterSigningCertFile = c.Keys.CA()
	settings.CSRSigningController.ClusterSigningKeyFile = c.Keys.CAKey()
	// Without its flags' values, such as the rate of evictions, pods would leave one lost node and none after it.
	nodes := kcm.NodeLifecycleControllerOptions{NodeLifecycleControllerConfiguration: &settings.NodeLifecycleController}
	nodes.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	if c.NodeGrace > 0 {
		settings.NodeLifecycleController.NodeMonitorGracePeriod.Duration = c.NodeGrace
	}
	settings.SAController.ServiceAccountKeyFile = c.Keys.TokenKey()
	settings.SAController.RootCAFile = c.Keys.CA()
	settings.KubeCloudShared.ConfigureCloudRoutes = false
	settings.KubeCloudShared.AllocateNodeCIDRs, settings.KubeCloudShared.ClusterCIDR = true, c.Pods.String()
	settings.KubeCloudShared.CIDRAllocatorType = string(ipam.RangeAllocatorType)
	settings.NodeIPAMController.NodeCIDRMaskSize = routes.BlockBits
	settings.NodeIPAMController.ServiceCIDR = c.Services.String()
	settings.GarbageCollectorController.GCIgnoredResources = nil
	for r := range garbagecollector.DefaultIgnoredResources() {
		settings.GarbageCollectorController.GCIgnoredResources = append(settings.GarbageCollectorController.GCIgnoredResources, gcResource(r))
	}
	return settings, nil
}

// runTokens makes the tokens of Secrets of type service-account-token.
func (c Config) runTokens(ctx context.Context, running *sync.WaitGroup) error {
	key, err := keyutil.PrivateKeyFromFile(c.Keys.TokenKey())
	if err != nil {
		return fmt.Errorf("key of service account tokens: %w", err)
	}
	ca, err := os.ReadFile(c.Keys.CA())
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	generator, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return err
	}
	controller, err := tokens.NewTokensController(klog.FromContext(ctx), c.Informers.Core().V1().ServiceAccounts(), c.Informers.Core().V1().Secrets(), c.Client,
		tokens.TokensControllerOptions{TokenGenerator: generator, RootCA: ca})
	if err != nil {
		return fmt.Errorf("make controller %s: %w", names.ServiceAccountTokenController, err)
	}
	running.Go(func() { controller.Run(ctx, tokenWorkers) })
	return nil
}
