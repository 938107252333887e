package objects

import (
	"context"
	"maps"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/lifecycle"
)

// bundleWatch follows all trust bundles.
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

func (w *bundleWatch) store() apiwatch.Store[*certificatesv1.ClusterTrustBundle] {
	return apiwatch.Store[*certificatesv1.ClusterTrustBundle]{
		All: func(list []*certificatesv1.ClusterTrustBundle, _ string) {
			w.change(func() {
				clear(w.now)
				for _, b := range list {
					w.now[b.Name] = b
				}
			})
		},
		Put:  func(b *certificatesv1.ClusterTrustBundle) { w.change(func() { w.now[b.Name] = b }) },
		Gone: func(b *certificatesv1.ClusterTrustBundle) { w.change(func() { delete(w.now, b.Name) }) },
	}
}

func (w *bundleWatch) note(_ context.Context, err error) {
	if err == nil {
		return
	}
	w.bundles.mu.Lock()
	defer w.bundles.mu.Unlock()
	w.err = err
}

// change makes the bundles others and tells the pods that use any.
func (w *bundleWatch) change(do func()) {
	w.bundles.mu.Lock()
	do()
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
}
