package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
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
