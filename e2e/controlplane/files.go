package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
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

// writeFiles makes all certificates, keys and kubeconfig files that the parts
// start with.
func (c *ControlPlane) writeFiles() error {
	for _, write := range []func() error{
		c.writeAuthorities, c.writeServing, c.writeServiceAccountKey, c.writeKubeconfigs, c.writeAuditPolicy,
	} {
		if err := write(); err != nil {
			return fmt.Errorf("write the control plane's files: %w", err)
		}
	}
	return nil
}

func (c *ControlPlane) writeAuthorities() error {
	var err error
	if c.ca, err = newAuthority("kubernetes"); err != nil {
		return err
	}
	frontProxy, err := newAuthority("front-proxy")
	if err != nil {
		return err
	}
	for name, a := range map[string]*authority{caName: c.ca, frontProxyCAName: frontProxy} {
		pair, err := a.pair()
		if err != nil {
			return err
		}
		if err := pair.write(c.file(name)); err != nil {
			return err
		}
	}
	client, err := frontProxy.client(frontProxyName)
	if err != nil {
		return err
	}
	return client.write(c.file(frontProxyName))
}

// writeServing makes what the API server shows to clients, and to kubelets.
func (c *ControlPlane) writeServing() error {
	serving, err := c.ca.serving(
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
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(c.file(serviceAccountName)+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600)
}

func (c *ControlPlane) writeKubeconfigs() error {
	// Scheduler and controllers need no role: the API server learns of roles a
	// while after it is ready, and would refuse what they ask first.
	for _, k := range []struct {
		file, user string
		groups     []string
	}{
		{adminKubeconfig, "kubernetes-admin", []string{mastersGroup}},
		{schedulerConfig, "system:kube-scheduler", []string{mastersGroup}},
		{controllersConfig, "system:kube-controller-manager", []string{mastersGroup}},
	} {
		if err := c.writeClientKubeconfig(c.file(k.file), k.user, k.groups...); err != nil {
			return err
		}
	}
	return nil
}

// file is the path of a file in the control plane's folder.
func (c *ControlPlane) file(name string) string { return filepath.Join(c.dir, name) }
