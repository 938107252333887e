//go:build attack

package attack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func request(client kubernetes.Interface, verb func(rest.Interface) *rest.Request, object runtime.Object) *rest.Request {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		panic(err)
	}
	api := client.CoreV1().RESTClient()
	if kinds[0].Group != "" {
		api = client.RbacV1().RESTClient()
	}
	namespace := attacker
	if accessor, err := meta.Accessor(object); err == nil && accessor.GetNamespace() == others {
		namespace = others
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return verb(api).NamespaceIfScoped(namespace, kinds[0].Kind != "Namespace").Resource(plural.Resource)
}

// create makes an object, or asks whether it could be made.
func create(ctx context.Context, client kubernetes.Interface, object runtime.Object, dryRun ...string) (runtime.Object, error) {
	made := object.DeepCopyObject()
	err := request(client, func(api rest.Interface) *rest.Request { return api.Post() }, object).
		VersionedParams(&metav1.CreateOptions{DryRun: dryRun}, scheme.ParameterCodec).Body(object).Do(ctx).Into(made)
	return made, err
}

// remove deletes an object, whatever its finalizers say.
func remove(ctx context.Context, object runtime.Object) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	var grace int64 = 1
	if strings.HasPrefix(accessor.GetName(), "-") {
		return fmt.Errorf("made with the name %q", accessor.GetName())
	}
	err = request(admin, func(api rest.Interface) *rest.Request { return api.Delete() }, object).Name(accessor.GetName()).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: &grace}).Do(ctx).Error()
	if len(accessor.GetFinalizers()) > 0 {
		_ = request(admin, func(api rest.Interface) *rest.Request { return api.Patch(types.MergePatchType) }, object).Name(accessor.GetName()).
			Body([]byte(`{"metadata":{"finalizers":null}}`)).Do(ctx).Error() // it may be gone
	}
	return err
}

// podState is what has been seen of a pod: it was Ready; that, or it has said why not; it has ended; it is gone.
type podState struct{ ready, settled, ended, gone bool }

type seenPods struct {
	mu      sync.Mutex
	pods    map[types.UID]*podState
	changed chan struct{}
}

func watchPods(ctx context.Context, namespace string) *seenPods {
	s := &seenPods{pods: map[types.UID]*podState{}, changed: make(chan struct{}, 1)}
	factory := informers.NewSharedInformerFactoryWithOptions(admin, 0, informers.WithNamespace(namespace))
	see := func(object any) {
		switch object := object.(type) {
		case *v1.Pod:
			s.see(object.UID, podState{ready: ready(object), settled: settled(object), ended: over(object)})
		case *v1.Event:
			s.see(object.InvolvedObject.UID, podState{settled: object.Type == v1.EventTypeWarning})
		}
	}
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Pods().Informer(), factory.Core().V1().Events().Informer()} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: see, UpdateFunc: func(_, object any) { see(object) },
			DeleteFunc: func(object any) {
				if late, is := object.(cache.DeletedFinalStateUnknown); is {
					object = late.Obj
				}
				if p, is := object.(*v1.Pod); is {
					s.see(p.UID, podState{settled: true, ended: true, gone: true})
				}
			},
		})
		if err != nil {
			panic(err) // only of an informer that has ended
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return s
}

func settled(p *v1.Pod) bool {
	for _, status := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if w := status.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return true
		}
	}
	return ready(p) || over(p)
}

func ready(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

func over(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed }

func (s *seenPods) see(uid types.UID, now podState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[uid]
	if p == nil {
		p = &podState{}
		s.pods[uid] = p
	}
	p.ready, p.settled, p.ended, p.gone = p.ready || now.ready, p.settled || now.settled, p.ended || now.ended, p.gone || now.gone
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// until waits until something is true of all these pods.
func (s *seenPods) until(ctx context.Context, is func(*podState) bool, uids ...types.UID) error {
	all := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, uid := range uids {
			if p := s.pods[uid]; p == nil || !is(p) {
				return false
			}
		}
		return true
	}
	for !all() {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for pods: %w", context.Cause(ctx))
		}
	}
	return nil
}
