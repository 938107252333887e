package objects

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	informers "k8s.io/client-go/informers/node/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// classesSyncWait is how long a lookup waits for the first reading.
const classesSyncWait = 5 * time.Second

// RuntimeClasses are the RuntimeClasses of a cluster.
type RuntimeClasses struct {
	informer cache.SharedIndexInformer
	log      *slog.Logger
	wanted   chan struct{} // closed with the first lookup
	want     sync.Once
	logged   sync.Once
}

// NewRuntimeClasses makes Classes that are watched by Run.
func NewRuntimeClasses(client kubernetes.Interface, log *slog.Logger) (*RuntimeClasses, error) {
	c := &RuntimeClasses{
		informer: informers.NewRuntimeClassInformer(client, 0, cache.Indexers{}),
		log:      log,
		wanted:   make(chan struct{}),
	}
	if err := c.informer.SetTransform(trimClass); err != nil {
		return nil, fmt.Errorf("watch runtime classes: %w", err)
	}
	if err := c.informer.SetWatchErrorHandlerWithContext(c.failed); err != nil {
		return nil, fmt.Errorf("watch runtime classes: %w", err)
	}
	return c, nil
}

// Run waits for the first lookup and then watches, until the context ends; call
// it once.
func (c *RuntimeClasses) Run(ctx context.Context) {
	select {
	case <-c.wanted:
		c.informer.RunWithContext(ctx)
	case <-ctx.Done():
	}
}

func (c *RuntimeClasses) failed(_ context.Context, _ *cache.Reflector, err error) {
	c.logged.Do(func() { c.log.Warn("runtime classes are not watched; tried again until they are", "err", err) })
}

// trimClass keeps name and handler: a pod's overhead and node selector are set by the
// API server.
func trimClass(object any) (any, error) {
	class, ok := object.(*nodev1.RuntimeClass)
	if !ok {
		return object, nil
	}
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: class.Name, ResourceVersion: class.ResourceVersion}, Handler: class.Handler}, nil
}

// Handler is the runtime handler of a class. For the error of a class that is not
// there apierrors.IsNotFound holds. It waits a moment for the first reading.
func (c *RuntimeClasses) Handler(class string) (string, error) {
	if class == "" {
		return "", nil
	}
	c.want.Do(func() { close(c.wanted) })
	if !c.wait() {
		return "", fmt.Errorf("failed to lookup RuntimeClass %s: the API server was not reached yet", class)
	}
	object, found, err := c.informer.GetIndexer().GetByKey(class)
	if err != nil {
		return "", fmt.Errorf("failed to lookup RuntimeClass %s: %w", class, err)
	}
	known, ok := object.(*nodev1.RuntimeClass)
	if !found || !ok {
		return "", apierrors.NewNotFound(nodev1.Resource("runtimeclass"), class)
	}
	return known.Handler, nil
}

func (c *RuntimeClasses) wait() bool {
	synced := c.informer.HasSyncedChecker().Done()
	select {
	case <-synced:
		return true
	default:
	}
	timer := time.NewTimer(classesSyncWait)
	defer timer.Stop()
	select {
	case <-synced:
		return true
	case <-timer.C:
		return false
	}
}
