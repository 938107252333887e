package objects

import (
	"context"
	"maps"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/lifecycle"
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
	now     map[string]*certificatesv1.ClusterTrustBundle
}

func (w *bundleWatch) lister() cache.ListerWatcher {
	client := w.bundles.options.Client
	bundles := client.CertificatesV1().ClusterTrustBundles()
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := bundles.List(ctx, o)
			w.note(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			events, err := bundles.Watch(ctx, o)
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
func (w *bundleWatch) change(to func(now map[string]*certificatesv1.ClusterTrustBundle)) error {
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
			w.bundles.options.Changed(pod, lifecycle.Because{Kind: lifecycle.BecauseChanged, Text: "ClusterTrustBundles"})
		}
	}
	return nil
}

// Replace takes over a list of all.
func (w *bundleWatch) Replace(list []any, _ string) error {
	return w.change(func(now map[string]*certificatesv1.ClusterTrustBundle) {
		clear(now)
		for _, item := range list {
			keepBundle(now, item)
		}
	})
}

// Add takes over a bundle.
func (w *bundleWatch) Add(item any) error {
	return w.change(func(now map[string]*certificatesv1.ClusterTrustBundle) { keepBundle(now, item) })
}

// Update takes over a bundle.
func (w *bundleWatch) Update(item any) error { return w.Add(item) }

// Delete forgets a bundle.
func (w *bundleWatch) Delete(item any) error {
	return w.change(func(now map[string]*certificatesv1.ClusterTrustBundle) {
		if b, ok := item.(*certificatesv1.ClusterTrustBundle); ok {
			delete(now, b.Name)
		}
	})
}

// Resync does nothing: there is nothing to repeat.
func (w *bundleWatch) Resync() error { return nil }

func keepBundle(now map[string]*certificatesv1.ClusterTrustBundle, item any) {
	if b, ok := item.(*certificatesv1.ClusterTrustBundle); ok {
		b = b.DeepCopy()
		b.ManagedFields = nil
		now[b.Name] = b
	}
}
