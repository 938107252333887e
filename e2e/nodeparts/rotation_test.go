package nodeparts

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/join"
)

// TestRotation: the certificate inside of a kubeconfig, as the first node of a
// kubeadm cluster has it, is replaced at once; requests then go by the new one.
func TestRotation(t *testing.T) {
	o, log := options(t, "rotating")
	o.Rotate = true
	assert.Must(t, assert.ErrorOf(plane.BootstrapKubeconfig(t.Context()))) // for the approval of rotations
	o.Kubeconfig = assert.Get(plane.NodeKubeconfig("rotating")).Must(t)
	c := assert.Get(join.Join(o)).Must(t)
	expectUser(t, c, "system:node:rotating")
	runToEnd(t, c)
	log.await(t, "using new credentials")
	expectUser(t, c, "system:node:rotating")
	config := assert.Get(clientcmd.LoadFromFile(o.Kubeconfig)).Must(t)
	current := assert.Get(os.ReadFile(filepath.Join(o.CertDir, "kubelet-client-current.pem"))).Must(t)
	assert.True(t, !bytes.HasPrefix(current, config.AuthInfos["system:node:rotating"].ClientCertificateData),
		"the current certificate is still that of the kubeconfig")
}

func runToEnd(t *testing.T, c *join.Connection) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); c.Run(t.Context()) }()
	t.Cleanup(func() { <-done })
}

// TestServingCertificate: the cluster signs a certificate for the node's addresses,
// another one when it gets a new address, and the node serves the one it has at its
// next start.
func TestServingCertificate(t *testing.T) {
	const signer = "kubernetes.io/kubelet-serving"
	o, log := options(t, "serving")
	o.Kubeconfig = assert.Get(plane.NodeKubeconfig("serving")).Must(t)
	c := assert.Get(join.Join(o)).Must(t)
	client := assert.Get(kubernetes.NewForConfig(c.Config)).Must(t)
	so := join.ServingOptions{
		Kubelet: &kubeletconfig.KubeletConfiguration{ServerTLSBootstrap: true},
		CertDir: o.CertDir, NodeName: "serving", Client: client, Log: log.log(),
	}
	s := assert.Get(join.NewServing(so)).Must(t)
	done := make(chan struct{})
	go func() { defer close(done); s.Run(t.Context()) }()
	t.Cleanup(func() { <-done })

	addresses := []v1.NodeAddress{{Type: v1.NodeHostName, Address: "serving"}, {Type: v1.NodeInternalIP, Address: "10.1.2.3"}}
	seen := map[string]bool{}
	s.SetAddresses(addresses)
	approve(t, awaitRequest(t, signer, "serving", seen).Name)
	log.await(t, "has a serving certificate")
	verify(t, s, "10.1.2.3")

	s.SetAddresses(append(addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "10.1.2.4"}))
	request := awaitRequest(t, signer, "serving", seen)
	got := parsed(t, request.Spec.Request)
	assert.True(t, slices.ContainsFunc(got.IPAddresses, net.ParseIP("10.1.2.4").Equal), "the request is for %v", got.IPAddresses)
	verify(t, s, "10.1.2.3") // the old one goes on meanwhile
	approve(t, request.Name)
	log.await(t, "using new serving certificate")
	verify(t, s, "10.1.2.4")

	again := assert.Get(join.NewServing(so)).Must(t)
	verify(t, again, "10.1.2.4")
	if got := time.Until(again.Expires()); got < 24*time.Hour {
		t.Errorf("expires in %s", got)
	}
}

// verify shakes hands as a client that trusts the cluster's authority alone.
func verify(t *testing.T, s *join.Serving, name string) {
	t.Helper()
	ca := assert.Get(os.ReadFile(plane.CAFile())).Must(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	server := tls.Server(far, s.TLS())
	go func() { _ = server.HandshakeContext(t.Context()) }()
	err := tls.Client(near, &tls.Config{RootCAs: pool, ServerName: name}).HandshakeContext(t.Context())
	assert.True(t, err == nil, "as %s: %v", name, err)
}
