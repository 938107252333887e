package join

import (
	"context"
	"crypto"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
)

// temporaryKey is the key of a request that has no answer yet: killed, the node goes
// on with the same request.
const temporaryKey = "kubelet-client.key.tmp"

// patience is how long one request is waited for before it is made again, should it
// be gone.
const patience = time.Hour

// retry is how a bootstrap that failed is tried again.
func retry() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 9, Cap: 5 * time.Minute}
}

// subject is whom a node's certificates are for.
func subject(node string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
}

// readBootstrap reads the bootstrap kubeconfig; os.ErrNotExist without one.
func (c *Connection) readBootstrap() error {
	if c.options.BootstrapKubeconfig == "" {
		return fmt.Errorf("no bootstrap kubeconfig is given: %w", os.ErrNotExist)
	}
	config, cluster, err := loadKubeconfig(c.options.BootstrapKubeconfig)
	if err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	config.UserAgent = c.options.UserAgent
	c.bootstrap, c.cluster = config, cluster
	return nil
}

// runBootstrap asks for a certificate until there is one, be it that somebody puts a
// good kubeconfig into its place, or ctx ends.
func (c *Connection) runBootstrap(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.joined:
			cancel()
		case <-ctx.Done():
		}
	}()
	backoff := retry()
	for ctx.Err() == nil {
		err := c.requestFirst(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		delay := backoff.Step()
		c.log.Warn("no certificate for the node yet", "err", err, "retry", delay.Round(time.Second).String())
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
}

// requestFirst makes a request, awaits its certificate, and writes the kubeconfig.
func (c *Connection) requestFirst(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, quiet(c.log)), patience)
	defer cancel()
	keyFile := filepath.Join(c.options.CertDir, temporaryKey)
	key, err := keyOf(keyFile)
	if err != nil {
		return fmt.Errorf("key for a certificate: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.bootstrap)
	if err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	pem, err := c.certify(ctx, client, key)
	if isStale(err) {
		// The cluster remembers a request of this key that leads nowhere.
		return errors.Join(err, os.Remove(keyFile))
	}
	if err != nil {
		return err
	}
	// The key is kept until all else is done: killed in between, the same request
	// gives the same certificate again.
	if _, err := c.store.Update(pem, key); err != nil {
		return fmt.Errorf("keep certificate: %w", err)
	}
	if err := writeKubeconfig(c.options.Kubeconfig, c.cluster, c.store.CurrentPath()); err != nil {
		return err
	}
	c.reload()
	if !c.isJoined() {
		return fmt.Errorf("the certificate that was issued cannot be used")
	}
	return os.Remove(keyFile)
}

// keyOf is the key in a file, which is made if there is none.
func keyOf(file string) ([]byte, error) {
	if data, err := os.ReadFile(file); err == nil && !isKey(data) {
		if err := os.Remove(file); err != nil { // half of a key: killed while writing
			return nil, err
		}
	}
	key, _, err := keyutil.LoadOrGenerateKeyFile(file)
	return key, err
}

// certify gets the node's client certificate for a key.
func (c *Connection) certify(ctx context.Context, client kubernetes.Interface, keyPEM []byte) ([]byte, error) {
	key, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("key for a certificate: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("key for a certificate: a %T cannot sign", key)
	}
	who := subject(c.options.NodeName)
	request, err := certutil.MakeCSR(key, &who, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make certificate request: %w", err)
	}
	usages := certificate.DefaultKubeletClientGetUsages(key)
	name, err := requestName(signer.Public(), who, usages)
	if err != nil {
		return nil, fmt.Errorf("make certificate request: %w", err)
	}
	name, uid, err := csr.RequestCertificateWithContext(ctx, client, request, name, certificatesv1.KubeAPIServerClientKubeletSignerName, nil, usages, key)
	if err != nil {
		return nil, fmt.Errorf("request certificate: %w", err)
	}
	c.log.Info("waiting for the node's certificate", "certificateSigningRequest", name)
	pem, err := csr.WaitForCertificate(ctx, client, name, uid)
	if err != nil {
		return nil, fmt.Errorf("wait for certificate of request %s: %w", name, err)
	}
	return pem, nil
}

// isStale says whether an error means that a request of the same name exists, with
// which nothing can be done: its certificate has expired, or it is another's.
func isStale(err error) bool {
	return err != nil && strings.Contains(err.Error(), "retrieved csr is not compatible")
}

// requestName is the name of the request for a key, the same as the kubelet's: a
// digest of the key, the subject and the usages, each behind a mark that none has.
func requestName(public crypto.PublicKey, who pkix.Name, usages []certificatesv1.KeyUsage) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	parts := append([]string{string(der), who.CommonName}, who.Organization...)
	for _, u := range usages {
		parts = append(parts, string(u))
	}
	encode := base64.RawURLEncoding.EncodeToString
	digest := sha512.New512_256()
	for _, part := range parts {
		digest.Write([]byte(encode([]byte(part)) + "|"))
	}
	return "node-csr-" + encode(digest.Sum(nil)), nil
}
