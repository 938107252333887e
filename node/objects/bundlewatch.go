package objects

import (
	"context"
	"errors"
	"maps"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// bundleWatch follows all trust bundles. It is the store of its reflector.
type bundleWatch struct {
	// immutable
	bundles *bundles
	cancel  context.CancelFunc
	heard   chan struct{} // closed when synced

	// guarded by bundles.mu
	synced  bool
	refused bool  // somebody got an error, and is to hear when it is over
	err     error // the last failure before
	now     map[string]*certificatesv1beta1.ClusterTrustBundle
}

// errNoTrustBundles is for API servers without the API, which is off by default before 1.37.
var errNoTrustBundles = errors.New("the API server serves ClusterTrustBundle neither in certificates.k8s.io/v1 nor in v1beta1")

func (w *bundleWatch) lister() cache.ListerWatcher {
	client := w.bundles.options.Client
	clients := bundleClients(client)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := inServedVersion(clients, func(c bundleClient) (runtime.Object, error) { return c.List(ctx, o) })
			w.note(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			events, err := inServedVersion(clients, func(c bundleClient) (apiwatch.Interface, error) { return c.Watch(ctx, o) })
			w.note(err)
			return events, err
		},
	}, client)
}

func (w *bundleWatch) note(err error) {
	if err == nil {
		return
	}
	w.bundles.mu.Lock()
	defer w.bundles.mu.Unlock()
	w.err = err
}

// change makes the bundles others and tells the pods that use any.
func (w *bundleWatch) change(to func(now map[string]*certificatesv1beta1.ClusterTrustBundle)) error {
	w.bundles.mu.Lock()
	to(w.now)
	tell := w.synced || w.refused
	if !w.synced {
		w.synced = true
		close(w.heard)
	}
	users := maps.Clone(w.bundles.users)
	w.bundles.mu.Unlock()
	for pod := range users {
		if tell {
			w.bundles.options.Changed(pod, "ClusterTrustBundles changed")
		}
	}
	return nil
}

// Replace takes over a list of all.
func (w *bundleWatch) Replace(list []any, _ string) error {
	return w.change(func(now map[string]*certificatesv1beta1.ClusterTrustBundle) {
		clear(now)
		for _, item := range list {
			keepBundle(now, item)
		}
	})
}

// Add takes over a bundle.
func (w *bundleWatch) Add(item any) error {
	return w.change(func(now map[string]*certificatesv1beta1.ClusterTrustBundle) { keepBundle(now, item) })
}

// Update takes over a bundle.
func (w *bundleWatch) Update(item any) error { return w.Add(item) }

// Delete forgets a bundle.
func (w *bundleWatch) Delete(item any) error {
	return w.change(func(now map[string]*certificatesv1beta1.ClusterTrustBundle) {
		if b, ok := item.(*certificatesv1beta1.ClusterTrustBundle); ok {
			delete(now, b.Name)
		}
	})
}

// Resync does nothing: there is nothing to repeat.
func (w *bundleWatch) Resync() error { return nil }

func keepBundle(now map[string]*certificatesv1beta1.ClusterTrustBundle, item any) {
	if b, ok := item.(*certificatesv1beta1.ClusterTrustBundle); ok {
		b = b.DeepCopy()
		b.ManagedFields = nil
		now[b.Name] = b
	}
}
