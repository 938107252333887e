package nodes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
)

// Certificate is what the nodes' API is served with. Without files it is self-signed at first, as that of a kubelet
// without rotation. Because some API servers take only what their cluster has signed, the cluster is asked for one
// (signer kubernetes.io/kubelet-serving), and asked again before it expires. The nodes have one address, for which no
// approver of nodes' requests would approve it, and are an administrator's: they approve it themselves.
type Certificate struct {
	current atomic.Pointer[tls.Certificate]
	asks    bool // the cluster
	CertificateOptions
}

type CertificateOptions struct {
	IP   net.IP // where the API is
	Node string // in whose name the cluster is asked
	// CertFile and KeyFile have it; empty: it is made.
	CertFile, KeyFile string
	SelfSigned        bool // the cluster is not asked
	Client            kubernetes.Interface
	Log               *slog.Logger
}

const (
	signingWait = time.Minute // for a cluster to sign
	// After it did not, it is asked again after firstAgain, and after twice that each time, up to lastAgain.
	firstAgain, lastAgain = time.Second, 10 * time.Minute
)

// NewCertificate reads the files, or makes a self-signed certificate.
func NewCertificate(o CertificateOptions) (*Certificate, error) {
	c := &Certificate{CertificateOptions: o}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read serving certificate %s and key %s: %w", o.CertFile, o.KeyFile, err)
		}
		c.current.Store(&pair)
		return c, nil
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(c.Node, []net.IP{o.IP}, nil)
	if err != nil {
		return nil, fmt.Errorf("make self-signed certificate of the nodes' API: %w", err)
	}
	c.asks = !o.SelfSigned
	return c, c.take(cert, key)
}

func (c *Certificate) take(cert, key []byte) error {
	pair, err := tls.X509KeyPair(cert, key)
	if err == nil {
		c.current.Store(&pair)
	}
	return err
}

// Get is for a tls.Config.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// Run has the cluster sign it, and renews it after two thirds of its life, until ctx ends.
func (c *Certificate) Run(ctx context.Context) {
	if !c.asks {
		return
	}
	for failed := firstAgain; ; failed = min(2*failed, lastAgain) {
		again := failed
		if err := c.sign(ctx); err == nil {
			leaf := c.current.Load().Leaf
			failed, again = firstAgain, time.Until(leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore)*2/3))
		} else if ctx.Err() == nil {
			c.Log.Warn("the cluster has not signed the certificate of the nodes' API: an API server that verifies certificates "+
				"(--kubelet-certificate-authority) refuses kubectl logs", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

// sign gets a certificate that the cluster has signed.
func (c *Certificate) sign(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, klog.Logger{}), signingWait)
	defer cancel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	request, err := certutil.MakeCSRFromTemplate(key, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + c.Node, Organization: []string{"system:nodes"}}, IPAddresses: []net.IP{c.IP},
	})
	if err != nil {
		return err
	}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
	name, uid, err := csr.RequestCertificateWithContext(ctx, c.Client, request, "", certificatesv1.KubeletServingSignerName, nil, usages, key)
	if err != nil {
		return err
	}
	if err := c.approve(ctx, name); err != nil {
		return err
	}
	signed, err := csr.WaitForCertificate(ctx, c.Client, name, uid)
	if err != nil {
		return fmt.Errorf("wait for the certificate of request %s: %w", name, err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return c.take(signed, pem.EncodeToMemory(&pem.Block{Type: keyutil.ECPrivateKeyBlockType, Bytes: der}))
}

func (c *Certificate) approve(ctx context.Context, name string) error {
	requests := c.Client.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: v1.ConditionTrue, Reason: "SimulatedNodes", Message: "It is for the API of simulated nodes.",
	})
	_, err = requests.UpdateApproval(ctx, name, request, metav1.UpdateOptions{})
	return err
}
