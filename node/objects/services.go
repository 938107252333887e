package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// servicesSyncWait is how long a container may wait for the Services to be read before
// it is told that they are not; a container that comes in the agent's first
// moments does not fail for it.
const servicesSyncWait = 2 * time.Second

// Services are those of the cluster that have an address.
type Services struct {
	informer cache.SharedIndexInformer
	log      *slog.Logger
	away     atomic.Bool   // the API server did not answer the last time
	unheard  chan struct{} // closed when it has not answered
	kept     *kept         // nil: nowhere
}

// NewServices makes Services that are empty until Run has read them.
func NewServices(client kubernetes.Interface, log *slog.Logger) (*Services, error) {
	// Headless Services have no variables.
	addressed := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermNotEqualSelector("spec.clusterIP", v1.ClusterIPNone).String()
	}
	s := &Services{
		log:      log,
		unheard:  make(chan struct{}),
		informer: informers.NewFilteredServiceInformer(client, metav1.NamespaceAll, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, addressed),
	}
	if err := s.informer.SetTransform(trimService); err != nil {
		return nil, fmt.Errorf("watch services: %w", err)
	}
	if err := s.informer.SetWatchErrorHandlerWithContext(s.failed); err != nil {
		return nil, fmt.Errorf("watch services: %w", err)
	}
	return s, nil
}

// Run watches until the context ends; call it once.
func (s *Services) Run(ctx context.Context) {
	var keeping sync.WaitGroup
	defer keeping.Wait()
	if s.kept != nil {
		keeping.Go(func() { s.keep(ctx) })
	}
	s.informer.RunWithContext(ctx)
}

// failed tells once that the API server is away; the informer tries again by itself.
func (s *Services) failed(_ context.Context, _ *cache.Reflector, err error) {
	if s.away.Swap(true) {
		s.log.Debug("services are still not watched", "err", err)
		return
	}
	s.log.Warn("services are not watched; tried again until they are", "err", err)
	select {
	case <-s.unheard:
	default:
		close(s.unheard)
	}
}

// trimService keeps what variables are made of.
func trimService(object any) (any, error) {
	service, ok := object.(*v1.Service)
	if !ok {
		return object, nil
	}
	small := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name, ResourceVersion: service.ResourceVersion}}
	small.Spec.ClusterIP = service.Spec.ClusterIP
	for _, port := range service.Spec.Ports {
		small.Spec.Ports = append(small.Spec.Ports, v1.ServicePort{Name: port.Name, Protocol: port.Protocol, Port: port.Port})
	}
	return small, nil
}

// errUnread is in the words of Kubernetes, as it ends up in a container's status.
var errUnread = errors.New("services have not yet been read at least once, cannot construct envs")

// Variables are those of all containers of the pod, sorted by Service (A-ENV-7,
// A-ENV-9). A pod of the API server waits a moment for the first reading. Without
// one it gets those of before, which Keep has found, or fails with
// CreateContainerConfigError; a static pod gets what there is (A-ENV-1).
func (s *Services) Variables(ctx context.Context, pod *v1.Pod) ([]criconfig.KeyValue, error) {
	if pod.Spec.EnableServiceLinks == nil {
		return nil, errors.New("nil pod.spec.enableServiceLinks encountered, cannot construct envvars")
	}
	from, read := s.read(ctx, !isStatic(pod))
	if !read && !isStatic(pod) {
		return nil, errUnread
	}
	selected, err := visible(from, pod.Namespace, *pod.Spec.EnableServiceLinks)
	if err != nil {
		return nil, err
	}
	var out []criconfig.KeyValue
	for _, name := range slices.Sorted(maps.Keys(selected)) {
		out = append(out, variables(selected[name])...)
	}
	return out, nil
}

func isStatic(pod *v1.Pod) bool {
	source, known := pod.Annotations["kubernetes.io/config.source"]
	return known && source != "api"
}

// read are the Services, as they are or as they were: false if they were never
// read. Who may wait does so for a moment, if the API server may still answer.
func (s *Services) read(ctx context.Context, mayWait bool) (cache.Indexer, bool) {
	synced := s.informer.HasSyncedChecker().Done()
	before := s.kept != nil && s.kept.services != nil
	if mayWait && !s.informer.HasSynced() {
		s.wait(ctx, synced, before)
	}
	if !s.informer.HasSynced() && before {
		return s.kept.services, true
	}
	return s.informer.GetIndexer(), s.informer.HasSynced()
}

// wait waits for the first reading; for a failure as well where there is something
// in its place.
func (s *Services) wait(ctx context.Context, synced <-chan struct{}, before bool) {
	var unheard <-chan struct{}
	if before {
		unheard = s.unheard
	}
	timer := time.NewTimer(servicesSyncWait)
	defer timer.Stop()
	select {
	case <-synced:
	case <-unheard:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// masterService is the API server's, which every pod is told of.
const masterService = "kubernetes"

// visible are the Services that a pod of the namespace is told of, by name: the
// API server's, and with links those of the namespace, which win.
func visible(services cache.Indexer, namespace string, links bool) (map[string]*v1.Service, error) {
	out := map[string]*v1.Service{}
	master, found, err := services.GetByKey(metav1.NamespaceDefault + "/" + masterService)
	if err != nil {
		return nil, fmt.Errorf("look up service %s: %w", masterService, err)
	}
	if service, ok := master.(*v1.Service); found && ok && isAddressed(service) {
		out[masterService] = service
	}
	if !links {
		return out, nil
	}
	objects, err := services.ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return nil, fmt.Errorf("list services of namespace %s: %w", namespace, err)
	}
	for _, object := range objects {
		if service, ok := object.(*v1.Service); ok && isAddressed(service) {
			out[service.Name] = service
		}
	}
	return out, nil
}

func isAddressed(service *v1.Service) bool {
	return service.Spec.ClusterIP != v1.ClusterIPNone && service.Spec.ClusterIP != ""
}
