package objects

import (
	"context"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/lifecycle"
)

// requestWatch follows the PodCertificateRequests of this node, which are all that it may
// read.
type requestWatch struct {
	// immutable
	cancel context.CancelFunc

	// guarded by certificates.mu
	now map[string]*certificatesv1.PodCertificateRequest // by namespace and name
}

// watchRequests starts the watch; its one goroutine ends with cancel.
func (c *certificates) watchRequests() {
	ctx, cancel := context.WithCancel(c.ctx)
	w := &requestWatch{cancel: cancel, now: map[string]*certificatesv1.PodCertificateRequest{}}
	c.watch = w
	from := apiwatch.Lister(c.options.Client, c.options.Client.CertificatesV1().PodCertificateRequests(metav1.NamespaceAll), func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", c.options.Node().Name).String()
	}, nil)
	go newReflector(from, &certificatesv1.PodCertificateRequest{}, apiwatch.Store[*certificatesv1.PodCertificateRequest]{
		All: func(list []*certificatesv1.PodCertificateRequest, _ string) {
			c.mu.Lock()
			clear(w.now)
			c.mu.Unlock()
			for _, r := range list {
				c.heard(w, r, false)
			}
		},
		Put:  func(r *certificatesv1.PodCertificateRequest) { c.heard(w, r, false) },
		Gone: func(r *certificatesv1.PodCertificateRequest) { c.heard(w, r, true) },
	}).RunWithContext(klog.NewContext(ctx, logr.Discard()))
}

// seen is a request as it is now; nil if it is not there, or there is no watch any more.
func (w *requestWatch) seen(name string) *certificatesv1.PodCertificateRequest {
	if w == nil {
		return nil
	}
	return w.now[name]
}

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
