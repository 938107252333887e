package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/keyutil"
)

// Files below the control plane's folder.
const (
	caName             = "ca"
	frontProxyCAName   = "front-proxy-ca"
	frontProxyName     = "front-proxy-client"
	servingName        = "apiserver"
	kubeletClientName  = "apiserver-kubelet-client"
	serviceAccountName = "service-account"
	adminKubeconfig    = "admin.kubeconfig"
	schedulerConfig    = "scheduler.kubeconfig"
	controllersConfig  = "controllers.kubeconfig"
	bootstrapConfig    = "bootstrap.kubeconfig"
)

// mastersGroup may do everything, whatever RBAC says.
const mastersGroup = "system:masters"

// writeFiles makes all certificates, keys and kubeconfig files that the processes
// start with. lifepod up makes what it does not find, of the authority that is there.
func (c *ControlPlane) writeFiles() error {
	writers := []func() error{c.writeAuthority, c.writeAdmin}
	if c.parts == nil {
		writers = append(writers, c.giveAuthority)
	} else {
		writers = append(writers, c.writeFrontProxy, c.writeServing, c.writeServiceAccountKey, c.writeKubeconfigs, c.writeAuditPolicy)
	}
	for _, write := range writers {
		if err := write(); err != nil {
			return fmt.Errorf("write the control plane's files: %w", err)
		}
	}
	return nil
}

func (c *ControlPlane) writeAuthority() (err error) {
	if c.ca, err = newAuthority("kubernetes"); err != nil {
		return err
	}
	return c.ca.write(c.file(caName))
}

func (c *ControlPlane) writeAdmin() error {
	return c.writeClientKubeconfig(c.file(adminKubeconfig), "kubernetes-admin", mastersGroup)
}

// giveAuthority puts the authority where lifepod up looks for its own.
func (c *ControlPlane) giveAuthority() error {
	if err := os.MkdirAll(c.keys(), 0o700); err != nil {
		return err
	}
	return c.ca.write(filepath.Join(c.keys(), caName))
}

func (c *ControlPlane) writeFrontProxy() error {
	frontProxy, err := newAuthority("front-proxy")
	if err != nil {
		return err
	}
	if err := frontProxy.write(c.file(frontProxyCAName)); err != nil {
		return err
	}
	client, err := frontProxy.client(frontProxyName)
	if err != nil {
		return err
	}
	return client.write(c.file(frontProxyName))
}

// writeServing makes what the API server shows to clients, and to kubelets.
func (c *ControlPlane) writeServing() error {
	serving, err := c.ca.serving(pkix.Name{CommonName: "kubernetes"},
		[]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"},
		[]net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(apiServiceIP)})
	if err != nil {
		return err
	}
	if err := serving.write(c.file(servingName)); err != nil {
		return err
	}
	client, err := c.ca.client("kube-apiserver-kubelet-client", mastersGroup)
	if err != nil {
		return err
	}
	return client.write(c.file(kubeletClientName))
}

// writeServiceAccountKey makes the key that signs service account tokens.
func (c *ControlPlane) writeServiceAccountKey() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.file(serviceAccountName)+".pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600); err != nil {
		return err
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return os.WriteFile(c.file(serviceAccountName)+".key", private, 0o600)
}

// writeKubeconfigs makes those of scheduler and controllers. They need no role: the API server learns of roles a
// while after it is ready, and would refuse what they ask first.
func (c *ControlPlane) writeKubeconfigs() error {
	if err := c.writeClientKubeconfig(c.file(schedulerConfig), "system:kube-scheduler", mastersGroup); err != nil {
		return err
	}
	return c.writeClientKubeconfig(c.file(controllersConfig), "system:kube-controller-manager", mastersGroup)
}

// file is the path of a file in the control plane's folder.
func (c *ControlPlane) file(name string) string { return filepath.Join(c.dir, name) }
