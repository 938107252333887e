package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate"
	"k8s.io/client-go/util/keyutil"
	cliflag "k8s.io/component-base/cli/flag"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/mailbox"
)

const serverPair = "kubelet-server"

var errNoServingCertificate = errors.New("the node has no serving certificate yet: its request waits to be approved")

// ServingOptions say which certificate the node serves its API with.
type ServingOptions struct {
	// Kubelet has tlsCertFile, tlsPrivateKeyFile, tlsCipherSuites, tlsMinVersion,
	// tlsCurvePreferences and serverTLSBootstrap.
	Kubelet *kubeletconfig.KubeletConfiguration
	CertDir string
	// NodeName is in a signed certificate, Hostname in a self-signed one (NodeName if empty).
	NodeName string
	Hostname string
	// Client asks for a signed certificate; nil without a cluster.
	Client kubernetes.Interface
	Log    *slog.Logger // none if nil
}

// Serving keeps the certificate of the node's API.
type Serving struct {
	options ServingOptions
	log     *slog.Logger
	config  *tls.Config
	files   []string // those of the certificate and its key; none if the cluster signs
	store   *store   // nil if files
	current atomic.Pointer[tls.Certificate]

	mu        sync.Mutex
	template  *x509.CertificateRequest // nil before there are addresses
	addressed mailbox.Signal           // template has changed
}

// NewServing reads the certificate, or makes a self-signed one.
func NewServing(o ServingOptions) (*Serving, error) {
	s := &Serving{options: o, log: o.Log, addressed: mailbox.NewSignal()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.config, err = tlsConfig(o.Kubelet); err != nil {
		return nil, fmt.Errorf("serve the node's API: %w", err)
	}
	s.config.GetCertificate = s.certificate
	if err := os.MkdirAll(o.CertDir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of certificates: %w", err)
	}
	switch k := o.Kubelet; {
	case k.TLSCertFile != "" && k.TLSPrivateKeyFile != "" && !s.Signed():
		s.files = []string{k.TLSCertFile, k.TLSPrivateKeyFile}
	case s.Signed():
		return s, s.openStore()
	default:
		s.files = []string{filepath.Join(o.CertDir, "kubelet.crt"), filepath.Join(o.CertDir, "kubelet.key")}
		if err := selfSign(s.files[0], s.files[1], s.host(), time.Now()); err != nil {
			return nil, fmt.Errorf("serve the node's API: %w", err)
		}
	}
	return s, s.load()
}

// Signed says whether the cluster is asked for the certificate.
func (s *Serving) Signed() bool {
	return s.options.Kubelet.ServerTLSBootstrap && s.options.Client != nil
}

func (s *Serving) host() string {
	if s.options.Hostname != "" {
		return s.options.Hostname
	}
	return s.options.NodeName
}

func tlsConfig(k *kubeletconfig.KubeletConfiguration) (*tls.Config, error) {
	version, err := cliflag.TLSVersion(k.TLSMinVersion)
	if err != nil {
		return nil, fmt.Errorf("tlsMinVersion: %w", err)
	}
	suites, err := cliflag.TLSCipherSuites(k.TLSCipherSuites)
	if err != nil {
		return nil, fmt.Errorf("tlsCipherSuites: %w", err)
	}
	curves, err := cliflag.TLSCurvePreferences(k.TLSCurvePreferences)
	if err != nil {
		return nil, fmt.Errorf("tlsCurvePreferences: %w", err)
	}
	return &tls.Config{MinVersion: version, CipherSuites: suites, CurvePreferences: curves, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// TLS is a config that always serves the certificate of the moment; each call gives
// one of its own, to add to.
func (s *Serving) TLS() *tls.Config { return s.config.Clone() }

// Expires is when the certificate does; zero without one.
func (s *Serving) Expires() time.Time {
	if pair := s.current.Load(); pair != nil && pair.Leaf != nil {
		return pair.Leaf.NotAfter
	}
	return time.Time{}
}

func (s *Serving) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := s.current.Load(); pair != nil {
		return pair, nil
	}
	return nil, errNoServingCertificate
}

// Run reads the files again when they change, or gets signed certificates and renews
// them, until ctx ends.
func (s *Serving) Run(ctx context.Context) {
	if s.store != nil {
		s.runSigned(ctx)
		return
	}
	watch(ctx, s.log, func() []string { return s.files }, func() {
		if err := s.load(); err != nil {
			s.log.Warn("new serving certificate cannot be used, going on with the old one", "err", err)
		}
	})
}

func (s *Serving) load() error {
	pair, err := tls.LoadX509KeyPair(s.files[0], s.files[1])
	if err != nil {
		return fmt.Errorf("read serving certificate %s and key %s: %w", s.files[0], s.files[1], err)
	}
	s.serve(&pair)
	return nil
}

// openStore takes up the certificate that the cluster has signed before, if it hasn't expired.
func (s *Serving) openStore() error {
	k := s.options.Kubelet
	files, err := certificate.NewFileStoreWithLogger(quiet(s.log), serverPair, s.options.CertDir, s.options.CertDir, k.TLSCertFile, k.TLSPrivateKeyFile)
	if err != nil {
		return fmt.Errorf("open certificates in %s: %w", s.options.CertDir, err)
	}
	s.store = &store{FileStore: files, updated: s.take}
	s.take()
	return nil
}

func (s *Serving) take() {
	pair, err := s.store.Current()
	var none *certificate.NoCertKeyError
	switch {
	case errors.As(err, &none):
	case err != nil:
		s.log.Warn("serving certificate cannot be used", "err", err)
	case pair.Leaf == nil || time.Now().Before(pair.Leaf.NotAfter):
		s.serve(pair)
	}
}

// serve makes pair the certificate of new connections.
func (s *Serving) serve(pair *tls.Certificate) {
	before := s.current.Swap(pair)
	if before == nil && s.store != nil {
		s.log.Info("the node's API has a serving certificate", "expires", pair.Leaf.NotAfter)
	}
	if before != nil && !slices.Equal(before.Certificate[0], pair.Certificate[0]) {
		s.log.Info("using new serving certificate", "expires", pair.Leaf.NotAfter)
	}
}

// SetAddresses says which names and addresses a signed certificate must have; if the
// one at hand lacks one, another is requested. Without an IP address none is: the
// approvers of clusters expect one.
func (s *Serving) SetAddresses(addresses []v1.NodeAddress) {
	template := servingTemplate(s.options.NodeName, addresses)
	s.mu.Lock()
	changed := template != nil && !sameTemplate(s.template, template)
	if changed {
		s.template = template
	}
	s.mu.Unlock()
	if changed {
		s.addressed.Send()
	}
}

// renewBefore is how long before its end a self-signed certificate is made anew,
// which happens at a start; the kubelet serves an expired one.
const renewBefore = 30 * 24 * time.Hour

// selfSign makes a certificate for host unless the files have a good one.
func selfSign(certFile, keyFile, host string, now time.Time) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err == nil && now.Before(pair.Leaf.NotAfter.Add(-renewBefore)) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read self-signed certificate %s and key %s: %w", certFile, keyFile, err)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return fmt.Errorf("make self-signed certificate for %s: %w", host, err)
	}
	if err := certutil.WriteCert(certFile, cert); err != nil {
		return fmt.Errorf("write self-signed certificate: %w", err)
	}
	if err := keyutil.WriteKey(keyFile, key); err != nil {
		return fmt.Errorf("write key of self-signed certificate: %w", err)
	}
	return nil
}
