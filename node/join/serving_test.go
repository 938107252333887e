package join

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// served is the certificate that a client is shown.
func served(t *testing.T, s *Serving, client *tls.Config) (*x509.Certificate, error) {
	t.Helper()
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	server := tls.Server(far, s.TLS())
	go func() { _ = server.HandshakeContext(t.Context()); _ = far.Close() }()
	client.InsecureSkipVerify = true
	connection := tls.Client(near, client)
	if err := connection.HandshakeContext(t.Context()); err != nil {
		return nil, err
	}
	return connection.ConnectionState().PeerCertificates[0], nil
}

func expectServed(t *testing.T, s *Serving, want string) {
	t.Helper()
	leaf := assert.Get(served(t, s, &tls.Config{})).Must(t)
	assert.Equal(t, want, leaf.Subject.CommonName, "served")
}

// TestSelfSigned: the certificate is made once, and made anew when it is about to end.
func TestSelfSigned(t *testing.T) {
	dir := t.TempDir()
	o := ServingOptions{Kubelet: &kubeletconfig.KubeletConfiguration{}, CertDir: dir, NodeName: "n1", Hostname: "host-1"}
	leafOfNew := func() *x509.Certificate {
		s := assert.Get(NewServing(o)).Must(t)
		return assert.Get(served(t, s, &tls.Config{})).Must(t)
	}
	first := leafOfNew()
	assert.Deep(t, "", []string{"host-1"}, first.DNSNames)
	again := leafOfNew()
	assert.True(t, again.Equal(first), "another certificate at the next start")
	info, err := os.Stat(filepath.Join(dir, "kubelet.key"))
	assert.True(t, err == nil && info.Mode().Perm() == 0o600, "key: %v %v", info, err)
	almost := first.NotAfter.Add(-24 * time.Hour)
	assert.Must(t, selfSign(filepath.Join(dir, "kubelet.crt"), filepath.Join(dir, "kubelet.key"), "host-1", almost))
	renewed := leafOfNew()
	assert.True(t, !renewed.Equal(first), "the same certificate a day before its end")
}

// TestServingFilesAreTakenUp as in a mounted Secret, where a link to a folder changes.
func TestServingFilesAreTakenUp(t *testing.T) {
	ca := newAuthority(t)
	dir := t.TempDir()
	for name, file := range map[string]string{"old": "..1/tls.pem", "new": "..2/tls.pem"} {
		replace(t, filepath.Join(dir, file), ca.sign(name, inAnHour()))
	}
	data, pem := filepath.Join(dir, "..data"), filepath.Join(dir, "tls.pem")
	for link, target := range map[string]string{data: "..1", pem: "..data/tls.pem"} {
		assert.Must(t, os.Symlink(target, link))
	}
	log := newMessages()
	s := assert.Get(NewServing(ServingOptions{
		Log:     log.log(),
		Kubelet: &kubeletconfig.KubeletConfiguration{TLSCertFile: pem, TLSPrivateKeyFile: pem, TLSMinVersion: "VersionTLS13"},
		CertDir: t.TempDir(),
	})).Must(t)
	assert.Runs(t, s.Run)
	expectServed(t, s, "old")
	assert.Must(t, os.Symlink("..2", data+".new"))
	assert.Must(t, os.Rename(data+".new", data))
	log.await(t, "using new serving certificate")
	expectServed(t, s, "new")
	assert.Fails(t, assert.ErrorOf(served(t, s, &tls.Config{MaxVersion: tls.VersionTLS12})), "TLS 1.2 is spoken in spite of tlsMinVersion")
}

func TestNoSignedCertificateYet(t *testing.T) {
	s := assert.Get(NewServing(ServingOptions{
		Kubelet: &kubeletconfig.KubeletConfiguration{ServerTLSBootstrap: true},
		CertDir: t.TempDir(), NodeName: "n1", Client: fake.NewClientset(),
	})).Must(t)
	assert.Fails(t, assert.ErrorOf(served(t, s, &tls.Config{})), "something is served")
	assert.True(t, s.Expires().IsZero(), "nothing expires")
}

func TestServingErrors(t *testing.T) {
	_, err := NewServing(ServingOptions{
		Kubelet: &kubeletconfig.KubeletConfiguration{TLSCertFile: "/none.crt", TLSPrivateKeyFile: "/none.key"},
		CertDir: t.TempDir(),
	})
	assert.ErrorContains(t, "read serving certificate /none.crt and key /none.key: ", err)
}

func TestServingTemplate(t *testing.T) {
	got := servingTemplate("n1", []v1.NodeAddress{
		{Type: v1.NodeInternalIP, Address: "10.0.0.2"},
		{Type: v1.NodeExternalIP, Address: "10.0.0.1"},
		{Type: v1.NodeInternalIP, Address: "10.0.0.1"},
		{Type: v1.NodeHostName, Address: "n1"},
		{Type: v1.NodeHostName, Address: "fd00::1"},
		{Type: v1.NodeExternalDNS, Address: "a.example"},
		{Type: v1.NodeInternalDNS, Address: ""},
	})
	var ips []string
	for _, ip := range got.IPAddresses {
		ips = append(ips, ip.String())
	}
	assert.Deep(t, "", []string{"10.0.0.1", "10.0.0.2", "fd00::1"}, ips)
	assert.Deep(t, "", []string{"a.example", "n1"}, got.DNSNames)
	assert.True(t, got.Subject.CommonName == "system:node:n1", "subject %v", got.Subject)
	got = servingTemplate("n1", []v1.NodeAddress{{Type: v1.NodeHostName, Address: "n1"}})
	assert.True(t, got == nil, "a request without IP address: %v", got)
}
