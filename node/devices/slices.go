package devices

import (
	"context"
	"log/slog"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// goneAfter is how long a driver may be away before its ResourceSlices are removed: long
// enough to be replaced, short enough that few pods come for devices that nobody prepares
// (A-DRA-11).
const goneAfter = 30 * time.Second

// slicesOf removes the ResourceSlices of this node whose drivers are gone.
type slicesOf struct {
	client kubernetes.Interface
	node   string
	log    *slog.Logger

	mu      sync.Mutex
	began   context.Context               // run's; nil before
	pending map[string]context.CancelFunc // by driver
	running sync.WaitGroup
}

// run has removals until ctx ends. What judges the drivers is asked about each that has
// slices already: it may never come back (A-DRA-11).
func (s *slicesOf) run(ctx context.Context, judge func(driver string)) {
	s.mu.Lock()
	s.began = ctx
	s.mu.Unlock()
	for driver := range s.published(ctx) {
		judge(driver)
	}
	<-ctx.Done()
	s.mu.Lock() // nothing begins from now on
	defer s.mu.Unlock()
	s.running.Wait()
}

// published are the drivers that have slices, read however often it takes.
func (s *slicesOf) published(ctx context.Context) sets.Set[string] {
	drivers := sets.New[string]()
	s.retry(ctx, "list ResourceSlices", func(ctx context.Context) error {
		list, err := s.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: s.selector("").String()})
		if err == nil {
			for i := range list.Items {
				drivers.Insert(list.Items[i].Spec.Driver)
			}
		}
		return err
	})
	return drivers
}

// driver takes whether a driver can be called now.
func (s *slicesOf) driver(name string, usable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, isPending := s.pending[name]
	switch {
	case usable && isPending:
		cancel()
		delete(s.pending, name)
	case usable || isPending || s.began == nil || s.began.Err() != nil:
	default:
		ctx, cancel := context.WithCancel(s.began)
		s.pending[name] = cancel
		s.running.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(goneAfter):
				s.remove(ctx, name)
			}
		})
	}
}

// remove deletes the slices of a driver, however often it takes, until ctx ends.
func (s *slicesOf) remove(ctx context.Context, driver string) {
	s.retry(ctx, "remove ResourceSlices", func(ctx context.Context) error {
		return s.client.ResourceV1().ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: s.selector(driver).String()})
	})
}

// selector is for the slices of this node, of one driver unless that is empty.
func (s *slicesOf) selector(driver string) fields.Set {
	selector := fields.Set{resourceapi.ResourceSliceSelectorNodeName: s.node}
	if driver != "" {
		selector[resourceapi.ResourceSliceSelectorDriver] = driver
	}
	return selector
}

func (s *slicesOf) retry(ctx context.Context, what string, do func(context.Context) error) {
	again := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Cap: 5 * time.Minute, Steps: 100}
	_ = wait.ExponentialBackoffWithContext(ctx, again, func(ctx context.Context) (bool, error) {
		err := do(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.DebugContext(ctx, what, "err", err)
		}
		return err == nil, nil
	})
}
