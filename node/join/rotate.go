package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate"
	"k8s.io/klog/v2"
)

// rotate renews the client certificate until ctx ends.
func (c *Connection) rotate(ctx context.Context) {
	c.mu.Lock()
	id := c.current
	c.mu.Unlock()
	if id.leaf == nil {
		c.log.Info("credentials of the node are not rotated: the kubeconfig has no client certificate", "kubeconfig", c.options.Kubeconfig)
		<-ctx.Done()
		return
	}
	manager, err := c.newManager(klog.NewContext(ctx, quiet(c.log)), id.named)
	if err != nil {
		c.log.Error("client certificate is not rotated", "err", err)
	} else {
		manager.Start() // it stops when ctx ends
	}
	<-ctx.Done()
}

// newManager rotates the certificate that the kubeconfig names until ctx ends. One
// inside of the kubeconfig may be somebody else's, an administrator's, to begin with:
// it is kept and replaced at once.
func (c *Connection) newManager(ctx context.Context, named rest.TLSClientConfig) (certificate.Manager, error) {
	dir := c.options.CertDir
	files, err := certificate.NewFileStoreWithLogger(quiet(c.log), clientPair, dir, dir, named.CertFile, named.KeyFile)
	if err != nil {
		return nil, err
	}
	return certificate.NewManager(&certificate.Config{
		ClientsetFn:             c.requester,
		Template:                &x509.CertificateRequest{Subject: subject(c.options.NodeName)},
		SignerName:              certificatesv1.KubeAPIServerClientKubeletSignerName,
		GetUsages:               certificate.DefaultKubeletClientGetUsages,
		BootstrapCertificatePEM: named.CertData,
		BootstrapKeyPEM:         named.KeyData,
		CertificateStore:        &store{FileStore: files, updated: c.reload},
		Ctx:                     &ctx,
	})
}

// requester is the client that asks for the next certificate: the node itself, or,
// when its certificate has expired, whoever may bootstrap.
func (c *Connection) requester(current *tls.Certificate) (kubernetes.Interface, error) {
	if current == nil || current.Leaf == nil || time.Now().After(current.Leaf.NotAfter) {
		if c.bootstrap == nil && c.readBootstrap() != nil {
			return kubernetes.NewForConfig(c.Config)
		}
		return kubernetes.NewForConfig(c.bootstrap)
	}
	return kubernetes.NewForConfig(c.Config)
}

// store tells when a certificate was added.
type store struct {
	certificate.FileStore
	updated func()
}

// Update keeps a certificate and makes it the current one.
func (s *store) Update(cert, key []byte) (*tls.Certificate, error) {
	pair, err := s.FileStore.Update(cert, key)
	if err == nil {
		s.updated()
	}
	return pair, err
}

// linger is how long requests under way may go on over connections with credentials
// that have been replaced.
const linger = 30 * time.Second

// errReplaced is the error of a watch that begins while credentials are replaced.
var errReplaced = errors.New("the node's credentials have just been replaced")

// transport sends requests by the route of the moment.
type transport struct {
	linger  time.Duration
	current atomic.Pointer[route] // nil: the node has no credentials yet
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	r := t.current.Load()
	if r == nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, ErrNotJoined
	}
	return r.send(request)
}

// CloseIdleConnections closes those without a request, as utilnet.CloseIdleConnectionsFor expects.
func (t *transport) CloseIdleConnections() {
	if r := t.current.Load(); r != nil {
		utilnet.CloseIdleConnectionsFor(r.transport)
	}
}

// swap makes next the route. The one before is left as soon as possible: a watch
// would go on with the old credentials for long.
func (t *transport) swap(next *route) {
	if before := t.current.Swap(next); before != nil {
		before.retire(t.linger)
	}
}

func (t *transport) closeAll() {
	if r := t.current.Load(); r != nil {
		r.dialer.CloseAll()
	}
}

// repeatAfter is how often client-go may say the same while the API server is away.
const repeatAfter = 10 * time.Minute

// quiet gives client-go a logger that tells what it did at slog's debug level, errors
// as such, and nothing twice within a short time.
func quiet(log *slog.Logger) logr.Logger {
	handler := seldom{log.Handler(), &recent{last: map[string]time.Time{}}}
	return logr.FromSlogHandler(handler).V(int(-slog.LevelDebug))
}

// seldom drops messages that were said a short time ago, whatever their attributes.
type seldom struct {
	slog.Handler
	recent *recent
}

type recent struct {
	mu   sync.Mutex
	last map[string]time.Time // by message, of which client-go has few
}

// Handle passes a message on unless it repeats one.
func (s seldom) Handle(ctx context.Context, r slog.Record) error {
	s.recent.mu.Lock()
	last, repeated := s.recent.last[r.Message]
	repeated = repeated && r.Time.Sub(last) < repeatAfter
	if !repeated {
		s.recent.last[r.Message] = r.Time
	}
	s.recent.mu.Unlock()
	if repeated {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

// WithAttrs keeps what was said.
func (s seldom) WithAttrs(attrs []slog.Attr) slog.Handler {
	return seldom{s.Handler.WithAttrs(attrs), s.recent}
}

// WithGroup keeps what was said.
func (s seldom) WithGroup(name string) slog.Handler {
	return seldom{s.Handler.WithGroup(name), s.recent}
}
