package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/certificate"

	"github.com/lifepod/lifepod/internal/pathwatch"
)

// ErrNotJoined is the error of requests before the node has credentials.
var ErrNotJoined = errors.New("the node has no credentials yet: it waits for its first certificate")

const clientPair = "kubelet-client"

// Options say who the node is and where its credentials are.
type Options struct {
	// Kubeconfig is the file with the node's credentials. Required.
	Kubeconfig string
	// BootstrapKubeconfig has credentials that may ask for a certificate; "" for none.
	BootstrapKubeconfig string
	// CertDir keeps certificates and keys, /var/lib/kubelet/pki of a kubelet.
	CertDir string
	// NodeName is in the certificates: system:node:<name>.
	NodeName string
	// Rotate asks for a new client certificate before the old one expires.
	Rotate bool
	// UserAgent of all requests; client-go's own if empty.
	UserAgent string
	Log       *slog.Logger // none if nil
}

// Connection is the node's access to its API server.
type Connection struct {
	// Config is for typed clients: protobuf, no limit of the rate. It never changes.
	Config *rest.Config

	options   Options
	log       *slog.Logger
	transport *transport
	store     certificate.FileStore
	cluster   clusterStanza // of the bootstrap kubeconfig
	bootstrap *rest.Config  // nil without

	joined     chan struct{}
	joinedOnce sync.Once
	leaf       atomic.Pointer[x509.Certificate]

	mu      sync.Mutex // serialises reloads
	current *identity
}

// Join reads the node's credentials, or those to bootstrap with. Nothing is asked
// of the API server before Run.
func Join(o Options) (*Connection, error) {
	if o.Kubeconfig == "" || o.NodeName == "" || o.CertDir == "" {
		return nil, errors.New("join cluster: kubeconfig, node name and folder of certificates are needed")
	}
	c := &Connection{options: o, log: o.Log, transport: &transport{linger: linger}, joined: make(chan struct{})}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if err := c.openStore(); err != nil {
		return nil, err
	}
	host, err := c.readFirst()
	if err != nil {
		return nil, err
	}
	c.Config = &rest.Config{
		Host:      host,
		Transport: c.transport,
		UserAgent: o.UserAgent,
		QPS:       -1,
		ContentConfig: rest.ContentConfig{
			ContentType:        runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
	}
	return c, nil
}

func (c *Connection) openStore() error {
	dir, err := filepath.Abs(c.options.CertDir)
	if err != nil {
		return fmt.Errorf("open folder of certificates: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // as the kubelet does; keys are 0600
		return fmt.Errorf("make folder of certificates: %w", err)
	}
	c.options.CertDir = dir
	if c.store, err = certificate.NewFileStoreWithLogger(quiet(c.log), clientPair, dir, dir, "", ""); err != nil {
		return fmt.Errorf("open certificates in %s: %w", dir, err)
	}
	return nil
}

// readFirst installs the credentials of the kubeconfig, if they are any good, and
// otherwise reads those to bootstrap with.
func (c *Connection) readFirst() (host string, err error) {
	id, err := c.read()
	if err == nil && !id.expired(time.Now()) {
		c.install(id)
		return id.config.Host, nil
	}
	bootstrapErr := c.readBootstrap()
	switch {
	case bootstrapErr == nil && err == nil:
		c.log.Warn("client certificate has expired, asking for a new one", "kubeconfig", c.options.Kubeconfig, "expired", id.leaf.NotAfter)
	case bootstrapErr == nil && !errors.Is(err, os.ErrNotExist):
		c.log.Warn("kubeconfig cannot be used, asking for a new certificate", "err", err)
	case bootstrapErr == nil:
	case err != nil:
		return "", fmt.Errorf("join cluster: %w", c.nothingToJoinWith(err, bootstrapErr))
	default:
		c.install(id)
		return id.config.Host, nil
	}
	if err := os.MkdirAll(filepath.Dir(c.options.Kubeconfig), 0o755); err != nil {
		return "", fmt.Errorf("make folder of kubeconfig: %w", err)
	}
	return c.bootstrap.Host, nil
}

// nothingToJoinWith says what to do about a kubeconfig that is no good, and a
// bootstrap kubeconfig that is not either, or was not given. To be without one of
// them is not wrong in itself.
func (c *Connection) nothingToJoinWith(err, bootstrapErr error) error {
	missing, bootstrap := errors.Is(err, os.ErrNotExist), c.options.BootstrapKubeconfig
	switch {
	case missing && bootstrap == "":
		return fmt.Errorf("there is no kubeconfig %s: put one with the node's credentials there, or give a --bootstrap-kubeconfig to join with", c.options.Kubeconfig)
	case missing && errors.Is(bootstrapErr, os.ErrNotExist):
		return fmt.Errorf("there is no kubeconfig %s, and no bootstrap kubeconfig %s: one of them has to be there", c.options.Kubeconfig, bootstrap)
	case missing:
		return bootstrapErr
	case bootstrap == "":
		return err
	}
	return fmt.Errorf("%w; %w", err, bootstrapErr)
}

// Joined is closed when the node has had credentials for the first time.
func (c *Connection) Joined() <-chan struct{} { return c.joined }

// Reconnect closes all connections, for when the API server does not answer. Requests
// under way fail.
func (c *Connection) Reconnect() { c.transport.closeAll() }

// TLS has the client certificate of this moment, if there is one, and the cluster's authorities: for connections to other nodes.
func (c *Connection) TLS() (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil, ErrNotJoined
	}
	return rest.TLSConfigFor(c.current.config)
}

// Expires is when the client certificate does; zero without one.
func (c *Connection) Expires() time.Time {
	if leaf := c.leaf.Load(); leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}

// Run bootstraps, rotates and watches the files of the kubeconfig until ctx ends.
func (c *Connection) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { watch(ctx, c.log, c.files, c.reload) })
	if !c.isJoined() {
		c.runBootstrap(ctx)
	}
	if c.options.Rotate && ctx.Err() == nil {
		c.rotate(ctx)
	}
}

func (c *Connection) isJoined() bool {
	select {
	case <-c.joined:
		return true
	default:
		return false
	}
}

// reload takes up what the files say now; what they say is kept if it is no good.
func (c *Connection) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := c.read()
	switch {
	case errors.Is(err, os.ErrNotExist) && c.current == nil:
		return // still bootstrapping
	case err != nil:
		c.log.Warn("new credentials cannot be used, going on with the old ones", "err", err)
		return
	case c.current == nil && id.expired(time.Now()), c.current.same(id):
		return
	}
	if id.config.Host != c.Config.Host {
		c.log.Warn("kubeconfig names another server: it is used from the next start", "kubeconfig", c.options.Kubeconfig, "server", id.config.Host, "using", c.Config.Host)
	}
	c.installLocked(id)
	c.log.Info("using new credentials for the API server", "kubeconfig", c.options.Kubeconfig)
}

func (c *Connection) install(id *identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.installLocked(id)
}

func (c *Connection) installLocked(id *identity) {
	c.current = id
	c.leaf.Store(id.leaf)
	c.transport.swap(id.route)
	if id.leaf != nil {
		c.checkLeaf(id.leaf)
	}
	c.joinedOnce.Do(func() { close(c.joined) })
}

// checkLeaf warns of what the API server will refuse.
func (c *Connection) checkLeaf(leaf *x509.Certificate) {
	if want := subject(c.options.NodeName).CommonName; leaf.Subject.CommonName != want {
		c.log.Warn("client certificate is not this node's", "certificate", leaf.Subject.CommonName, "node", want)
	}
	if time.Now().After(leaf.NotAfter) {
		c.log.Error("client certificate has expired: the API server will refuse it until the file is renewed", "kubeconfig", c.options.Kubeconfig, "expired", leaf.NotAfter)
	}
}

// settle is how long nothing must happen to files that are being replaced, often
// several of them together, before they are read.
const settle = 200 * time.Millisecond

// watch calls changed, from one goroutine, when one of files may have changed, until
// ctx ends, and once at its start. Files may change from one call to the next.
func watch(ctx context.Context, log *slog.Logger, files func() []string, changed func()) {
	watcher := pathwatch.New(func(_ context.Context, err error) {
		if err != nil {
			log.Error("files of credentials cannot be watched: changes count from the next start", "err", err)
		}
	})
	defer watcher.Close()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		followed := files()
		watcher.Follow(ctx, followed...)
		changed()
		if !slices.Equal(files(), followed) {
			continue
		}
		timer.Stop()
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case <-watcher.Changed:
				timer.Reset(settle)
			case <-timer.C:
				waiting = false
			}
		}
	}
}
