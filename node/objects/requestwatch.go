package objects

import (
	"context"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/lifecycle"
)

// requestWatch follows the PodCertificateRequests of this node, which are all that it may
// read. It is the store of its reflector.
type requestWatch struct {
	// immutable
	certificates *certificates
	cancel       context.CancelFunc

	// guarded by certificates.mu
	now map[string]*certificatesv1.PodCertificateRequest // by namespace and name
}

// watchRequests starts the watch; its one goroutine ends with cancel.
func (c *certificates) watchRequests() {
	ctx, cancel := context.WithCancel(c.ctx)
	w := &requestWatch{certificates: c, cancel: cancel, now: map[string]*certificatesv1.PodCertificateRequest{}}
	c.watch = w
	go newReflector(w.lister(), &certificatesv1.PodCertificateRequest{}, w).RunWithContext(klog.NewContext(ctx, logr.Discard()))
}

func (w *requestWatch) lister() cache.ListerWatcher {
	client := w.certificates.options.Client
	requests := client.CertificatesV1().PodCertificateRequests(metav1.NamespaceAll)
	ours := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", w.certificates.options.Node().Name).String()
		return o
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return requests.List(ctx, ours(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return requests.Watch(ctx, ours(o))
		},
	}, client)
}

// seen is a request as it is now; nil if it is not there, or there is no watch any more.
func (w *requestWatch) seen(name string) *certificatesv1.PodCertificateRequest {
	if w == nil {
		return nil
	}
	return w.now[name]
}

// Replace takes over a list of all.
func (w *requestWatch) Replace(list []any, _ string) error {
	w.certificates.mu.Lock()
	clear(w.now)
	w.certificates.mu.Unlock()
	for _, item := range list {
		_ = w.Add(item)
	}
	return nil
}

// Add takes over a request.
func (w *requestWatch) Add(item any) error {
	if r, ok := item.(*certificatesv1.PodCertificateRequest); ok {
		w.certificates.heard(w, r, false)
	}
	return nil
}

// Update takes over a request.
func (w *requestWatch) Update(item any) error { return w.Add(item) }

// Delete forgets a request.
func (w *requestWatch) Delete(item any) error {
	if r, ok := item.(*certificatesv1.PodCertificateRequest); ok {
		w.certificates.heard(w, r, true)
	}
	return nil
}

// Resync does nothing: there is nothing to repeat.
func (w *requestWatch) Resync() error { return nil }

// heard files what has become of a request.
func (c *certificates) heard(w *requestWatch, r *certificatesv1.PodCertificateRequest, deleted bool) {
	name := r.Namespace + "/" + r.Name
	c.mu.Lock()
	w.now[name] = r
	if deleted {
		delete(w.now, name)
	}
	have, happened := c.waitsFor(name), news{}
	switch {
	case have == nil:
	case deleted:
		have.answered()
		happened.because = lifecycle.Because{Kind: "was-deleted", Text: "PodCertificateRequest " + name}
	default:
		happened = have.decide(r)
	}
	if have != nil {
		c.arm(have)
	}
	c.mu.Unlock()
	if have != nil {
		c.tell(have.pod, happened)
	}
}

// waitsFor is the certificate that a request was made for.
func (c *certificates) waitsFor(name string) *podCertificate {
	for _, sources := range c.known {
		for _, have := range sources {
			if have.asked != nil && have.asked.name == name {
				return have
			}
		}
	}
	return nil
}
