package pki

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

var day = 24 * time.Hour

type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) config(dir string) Config {
	return Config{
		Dir: dir, Names: []string{"n1"}, Addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 43, 0, 1)},
		Node: "n1", NodeAddresses: []net.IP{net.IPv4(192, 0, 2, 1)},
		Now: func() time.Time { return c.now },
	}
}

func open(t *testing.T, c Config) *Folder {
	t.Helper()
	f := assert.Get(Open(c)).Must(t)
	return f
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := assert.Get(os.ReadDir(dir)).Must(t)
	all := map[string]string{}
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		text := assert.Get(os.ReadFile(filepath.Join(dir, file.Name()))).Must(t)
		all[file.Name()] = string(text)
	}
	return all
}

// changed are the names of files that differ.
func changed(before, after map[string]string) []string {
	var names []string
	for name := range after {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func leafIn(t *testing.T, certificate, key string) *x509.Certificate {
	t.Helper()
	whole := assert.Get(tls.LoadX509KeyPair(certificate, key)).Must(t)
	return whole.Leaf
}

// TestWhoIsWho: every certificate is good for its use, and only for that.
func TestWhoIsWho(t *testing.T) {
	c := newClock()
	f := open(t, c.config(t.TempDir()))
	for _, tc := range []struct {
		certificate, key, ca string
		subject, host        string
		usage, not           x509.ExtKeyUsage
	}{
		{f.Serving(), f.ServingKey(), f.CA(), "CN=kube-apiserver", "kubernetes.default.svc", x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		{f.Serving(), f.ServingKey(), f.CA(), "CN=kube-apiserver", "10.43.0.1", x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		{f.NodeServing(), f.NodeServingKey(), f.CA(), "CN=system:node:n1,O=system:nodes", "192.0.2.1", x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		{f.KubeletClient(), f.KubeletClientKey(), f.CA(), "CN=kube-apiserver-kubelet-client,O=system:masters", "", x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		{f.FrontProxy(), f.FrontProxyKey(), f.FrontProxyCA(), "CN=front-proxy-client", "", x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	} {
		got := leafIn(t, tc.certificate, tc.key)
		assert.True(t, got.Subject.String() == tc.subject, "%s: subject %q, want %q", tc.certificate, got.Subject, tc.subject)
		ca := assert.Get(os.ReadFile(tc.ca)).Must(t)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		verify := x509.VerifyOptions{DNSName: tc.host, Roots: pool, CurrentTime: c.now, KeyUsages: []x509.ExtKeyUsage{tc.usage}}
		_, err := got.Verify(verify)
		assert.True(t, err == nil, "%s: %v", tc.certificate, err)
		verify.KeyUsages = []x509.ExtKeyUsage{tc.not}
		_, err = got.Verify(verify)
		assert.True(t, err != nil, "%s is good for %v, too", tc.certificate, tc.not)
	}
}

// TestModes: nobody else can read any of it, whatever the modes were.
func TestModes(t *testing.T) {
	dir := t.TempDir() // made with more than 0700
	assert.Must(t, os.Chmod(dir, 0o755))
	f := open(t, newClock().config(dir))
	kubeconfig := filepath.Join(dir, "kubeconfig")
	assert.Must(t, f.AdminKubeconfig(kubeconfig, "lifepod", "https://127.0.0.1:6443"))
	assert.Must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		assert.Deep(t, fmt.Sprintf("%s has mode", path), want, info.Mode().Perm())
		return err
	}))
}

// TestRefresh: what was signed is made again in time and when it doesn't fit, and
// the authorities and the key of tokens never are.
func TestRefresh(t *testing.T) {
	all := []string{
		"apiserver-kubelet-client.crt", "apiserver-kubelet-client.key", "apiserver.crt", "apiserver.key",
		"front-proxy-client.crt", "front-proxy-client.key", "node.crt", "node.key",
	}
	for _, tc := range []struct {
		name   string
		later  time.Duration
		config func(*Config)
		want   []string
	}{
		{name: "the same"},
		{name: "two thirds are not over", later: 243 * day},
		{name: "two thirds are over", later: 244 * day, want: all},
		{name: "expired", later: 400 * day, want: all},
		{name: "another address of the API server", config: func(c *Config) { c.Addresses = append(c.Addresses, net.IPv4(192, 0, 2, 9)) },
			want: []string{"apiserver.crt", "apiserver.key"}},
		{name: "an address less", config: func(c *Config) { c.Addresses = c.Addresses[:1] }},
		{name: "another name", config: func(c *Config) { c.Names = []string{"n2"} }, want: []string{"apiserver.crt", "apiserver.key"}},
		{name: "the node has moved", config: func(c *Config) { c.NodeAddresses = []net.IP{net.IPv4(192, 0, 2, 9)} },
			want: []string{"node.crt", "node.key"}},
		{name: "another node", config: func(c *Config) { c.Node = "n2" }, want: []string{"node.crt", "node.key"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, dir := newClock(), t.TempDir()
			open(t, c.config(dir))
			before := content(t, dir)
			c.now = c.now.Add(tc.later)
			next := c.config(dir)
			if tc.config != nil {
				tc.config(&next)
			}
			f := open(t, next)
			assert.Deep(t, "made again", tc.want, changed(before, content(t, dir)))
			got := leafIn(t, f.Serving(), f.ServingKey()).NotAfter
			assert.True(t, got.Sub(c.now) >= 100*day, "the API server's expires %s at %s", got, c.now)
		})
	}
}

// TestAuthorityExpires: an authority at its end is told of by name; what it has
// signed ends with it.
func TestAuthorityExpires(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	f := open(t, c.config(dir))
	end := leafIn(t, f.CA(), f.CAKey()).NotAfter
	c.now = end.Add(-30 * day)
	f = open(t, c.config(dir))
	got := leafIn(t, f.Serving(), f.ServingKey()).NotAfter
	assert.True(t, got.Equal(end), "the API server's certificate ends %s, its authority %s", got, end)
	before := content(t, dir)
	c.now = end.Add(day)
	assert.ErrorContains(t, "ca.crt: it has expired on 2035-12-30", assert.ErrorOf(Open(c.config(dir))), "an expired authority")
	if got := changed(before, content(t, dir)); got != nil {
		t.Errorf("an expired authority: %v are made again", got)
	}
}
