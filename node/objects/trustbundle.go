package objects

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/apiwatch"
)

// bundles are the cluster's trust bundles, watched while a registered pod uses any:
// a node may read all of them.
type bundles struct {
	ctx     context.Context
	options Options

	// guarded by mu
	mu    sync.Mutex
	users map[types.UID]bool
	watch *bundleWatch // nil without users
}

func (b *bundles) register(pod types.UID, uses bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if uses {
		b.users[pod] = true
	} else {
		delete(b.users, pod)
	}
	switch {
	case len(b.users) == 0 && b.watch != nil:
		b.watch.cancel()
		b.watch = nil
	case len(b.users) > 0 && b.watch == nil:
		b.begin()
	}
}

// begin starts the watch; its one goroutine ends with cancel.
func (b *bundles) begin() {
	ctx, cancel := context.WithCancel(b.ctx)
	w := &bundleWatch{bundles: b, cancel: cancel, heard: make(chan struct{}), now: map[string]*certificatesv1.ClusterTrustBundle{}}
	b.watch = w
	from := apiwatch.Lister(b.options.Client, b.options.Client.CertificatesV1().ClusterTrustBundles(), nil, w.note)
	reflector := newReflector(from, &certificatesv1.ClusterTrustBundle{}, w.store())
	go reflector.RunWithContext(klog.NewContext(ctx, logr.Discard()))
}

// TrustAnchors are the certificates of a trust bundle, or of all bundles of a
// signer that have the labels: PEM, each once. Without any it is an error, unless
// the projection is optional.
func (o *Objects) TrustAnchors(ctx context.Context, projection *v1.ClusterTrustBundleProjection) ([]byte, error) {
	list, err := o.bundles.list(ctx)
	if err != nil {
		return nil, err
	}
	optional := ptr.Deref(projection.Optional, false)
	switch {
	case projection.Name != nil:
		for _, b := range list {
			if b.Name == *projection.Name {
				return anchors(b), nil
			}
		}
		if optional {
			return nil, nil
		}
		resource := certificatesv1.Resource("clustertrustbundle")
		return nil, fmt.Errorf("while getting ClusterTrustBundle: %w", apierrors.NewNotFound(resource, *projection.Name))
	case projection.SignerName != nil:
		chosen, err := ofSigner(list, projection)
		if err == nil && len(chosen) == 0 && !optional {
			err = errors.New("combination of signerName and labelSelector matched zero ClusterTrustBundles")
		}
		return anchors(chosen...), err
	}
	return nil, errors.New("ClusterTrustBundle projection requires either name or signerName to be set")
}

// list waits for the first answer of the API server, as long as Kubernetes does.
func (b *bundles) list(ctx context.Context) ([]*certificatesv1.ClusterTrustBundle, error) {
	b.mu.Lock()
	w := b.watch
	b.mu.Unlock()
	if w == nil {
		return nil, errors.New("no pod with ClusterTrustBundles is registered")
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswerWithin)
	defer cancel()
	select {
	case <-w.heard:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !w.synced {
		w.refused = true
		if w.err != nil {
			return nil, fmt.Errorf("ClusterTrustBundle informer has not yet synced: %w", w.err)
		}
		return nil, errors.New("ClusterTrustBundle informer has not yet synced")
	}
	return slices.Collect(maps.Values(w.now)), nil
}

// ofSigner picks the bundles of a signer. No selector matches nothing, an empty
// one everything.
func ofSigner(list []*certificatesv1.ClusterTrustBundle, projection *v1.ClusterTrustBundleProjection) ([]*certificatesv1.ClusterTrustBundle, error) {
	selector, err := metav1.LabelSelectorAsSelector(projection.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("while parsing label selector: %w", err)
	}
	return slices.DeleteFunc(list, func(b *certificatesv1.ClusterTrustBundle) bool {
		return b.Spec.SignerName != *projection.SignerName || !selector.Matches(labels.Set(b.Labels))
	}), nil
}

// anchors are the certificates of bundles, each once. Their order means nothing
// and is stable, so that files change only when certificates do.
func anchors(list ...*certificatesv1.ClusterTrustBundle) []byte {
	found := map[string]bool{}
	for _, b := range list {
		rest := []byte(b.Spec.TrustBundle)
		for block, more := pem.Decode(rest); block != nil; block, more = pem.Decode(more) {
			found[string(block.Bytes)] = true
		}
	}
	var out []byte
	for _, certificate := range slices.Sorted(maps.Keys(found)) {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(certificate)})...)
	}
	return out
}
