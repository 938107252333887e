// Package scheduler is the Kubernetes scheduler of a cluster, in this process, on
// the informers that the controllers use, too.
package scheduler

import (
	"context"
	"fmt"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// Run schedules until ctx ends. shared may be started already or not.
func Run(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	configuration, err := latest.Default()
	if err != nil {
		return fmt.Errorf("configure the scheduler: %w", err)
	}
	broadcaster := events.NewEventBroadcasterAdapterWithContext(ctx, client)
	defer broadcaster.Shutdown()
	own := scheduler.NewInformerFactory(client, 0, nil)
	own.Core().V1().Pods().Informer()
	s, err := scheduler.New(ctx, client, factory{shared, own}, nil, profile.RecorderFactory(func(name string) events.EventRecorderLogger {
		return broadcaster.NewRecorder(name)
	}),
		scheduler.WithComponentConfigVersion(configuration.APIVersion),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(configuration.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(configuration.PodInitialBackoffSeconds),
		scheduler.WithExtenders(configuration.Extenders...),
		scheduler.WithParallelism(configuration.Parallelism),
	)
	if err != nil {
		return fmt.Errorf("make the scheduler: %w", err)
	}
	broadcaster.StartRecordingToSink(ctx.Done())
	own.Start(ctx.Done())
	shared.Start(ctx.Done())
	defer own.Shutdown()
	own.WaitForCacheSync(ctx.Done())
	shared.WaitForCacheSync(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		return fmt.Errorf("wait for the scheduler's caches: %w", err)
	}
	s.Run(ctx)
	return nil
}

// factory is the shared informers, but for pods: the scheduler must not see those
// that have ended, of which the controllers need to know.
type factory struct {
	informers.SharedInformerFactory
	own informers.SharedInformerFactory
}

func (f factory) Core() core.Interface { return coreGroup{f.SharedInformerFactory.Core(), f.own} }

type coreGroup struct {
	core.Interface
	own informers.SharedInformerFactory
}

func (g coreGroup) V1() corev1.Interface { return coreV1{g.Interface.V1(), g.own} }

type coreV1 struct {
	corev1.Interface
	own informers.SharedInformerFactory
}

func (g coreV1) Pods() corev1.TypedPodInformer { return g.own.Core().V1().Pods() }
