package join

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lifepod/lifepod/internal/assert"
)

// ask gives the name that the server knows the connection by.
func ask(t *testing.T, c *Connection) (string, error) {
	t.Helper()
	client := assert.Get(rest.HTTPClientFor(c.Config)).Must(t)
	request := assert.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, c.Config.Host, nil)).Must(t)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	name, err := io.ReadAll(response.Body)
	return string(name), err
}

// messages is a log of which a test awaits single ones.
type messages chan string

func newMessages() messages { return make(messages, 1000) }

func (m messages) log() *slog.Logger { return slog.New(slog.NewTextHandler(m, nil)) }

func (m messages) Write(line []byte) (int, error) {
	m <- string(line)
	return len(line), nil
}

func (m messages) await(t *testing.T, part string) {
	t.Helper()
	for {
		select {
		case line := <-m:
			if strings.Contains(line, part) {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("no message %q", part)
		}
	}
}

const taken = "using new credentials"

// expect asks the server how it knows the connection.
func expect(t *testing.T, c *Connection, want string) {
	t.Helper()
	got, err := ask(t, c)
	assert.True(t, err == nil && got == want, "the server knows %q (%v), want %q", got, err, want)
	pair := assert.Get(assert.Get(c.TLS()).Must(t).GetClientCertificate(nil)).Must(t)
	assert.Equal(t, want, pair.Leaf.Subject.CommonName, "to other nodes")
}

func options(dir string) Options {
	return Options{Kubeconfig: filepath.Join(dir, "kubelet.conf"), CertDir: filepath.Join(dir, "pki"), NodeName: "n1"}
}

// TestFilesAreTakenUp: a renewed certificate behind a link and another kubeconfig are
// used without a restart, over new connections.
func TestFilesAreTakenUp(t *testing.T) {
	ca := newAuthority(t)
	server := ca.serve()
	dir := t.TempDir()
	link := filepath.Join(dir, "pki", "kubelet-client-current.pem")
	replace(t, filepath.Join(dir, "pki", "first.pem"), ca.sign("system:node:n1", inAnHour()))
	replace(t, filepath.Join(dir, "pki", "second.pem"), ca.sign("system:node:n1-renewed", inAnHour()))
	assert.Must(t, os.Symlink("first.pem", link))
	o, log := options(dir), newMessages()
	o.Log = log.log()
	replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificate: link, ClientKey: link}))
	c := assert.Get(Join(o)).Must(t)
	<-c.Joined()
	expect(t, c, "system:node:n1")
	got := time.Until(c.Expires())
	assert.True(t, got >= 50*time.Minute && got <= time.Hour, "expires in %s", got)
	assert.Runs(t, c.Run)
	assert.Must(t, os.Symlink("second.pem", link+".new"))
	assert.Must(t, os.Rename(link+".new", link))
	log.await(t, taken)
	expect(t, c, "system:node:n1-renewed")

	third := ca.sign("embedded", inAnHour())
	replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificateData: third, ClientKeyData: third}))
	log.await(t, taken)
	expect(t, c, "embedded")

	// A file that is no good changes nothing; the next good one counts.
	replace(t, o.Kubeconfig, []byte("apiVersion: v1\nkind: Config\nclusters: ["))
	log.await(t, "new credentials cannot be used")
	expect(t, c, "embedded")
	replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificate: link, ClientKey: link}))
	log.await(t, taken)
	expect(t, c, "system:node:n1-renewed")
}

// TestRotatedCertificateCounts: with rotation, the certificate of the last rotation counts
// and not the one inside of the kubeconfig; an expired one does not.
func TestRotatedCertificateCounts(t *testing.T) {
	for name, test := range map[string]struct {
		expires time.Time
		rotate  bool
		want    string
	}{
		"rotated":          {inAnHour(), true, "rotated"},
		"rotated, expired": {time.Now().Add(-time.Minute), true, "embedded"},
		"no rotation":      {inAnHour(), false, "embedded"},
	} {
		t.Run(name, func(t *testing.T) {
			ca := newAuthority(t)
			server := ca.serve()
			o := options(t.TempDir())
			o.Rotate = test.rotate
			pair := ca.sign("embedded", inAnHour())
			replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificateData: pair, ClientKeyData: pair}))
			replace(t, filepath.Join(o.CertDir, "kubelet-client-current.pem"), ca.sign("rotated", test.expires))
			c := assert.Get(Join(o)).Must(t)
			expect(t, c, test.want)
		})
	}
}

// TestExpiredCertificate: without a bootstrap kubeconfig the node starts, and joins
// when the certificate is renewed.
func TestExpiredCertificate(t *testing.T) {
	ca := newAuthority(t)
	server := ca.serve()
	o, log := options(t.TempDir()), newMessages()
	o.Log = log.log()
	expired := ca.sign("system:node:n1", time.Now().Add(-time.Minute))
	replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificateData: expired, ClientKeyData: expired}))
	c := assert.Get(Join(o)).Must(t)
	assert.Fails(t, assert.ErrorOf(ask(t, c)), "the server took an expired certificate")
	assert.Runs(t, c.Run)
	renewed := ca.sign("system:node:n1", inAnHour())
	replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificateData: renewed, ClientKeyData: renewed}))
	log.await(t, taken)
	expect(t, c, "system:node:n1")
}

// TestKubeconfigAppears: a node that bootstraps in vain takes a kubeconfig that
// somebody puts there.
func TestKubeconfigAppears(t *testing.T) {
	ca := newAuthority(t)
	server := ca.serve() // knows no certificate requests
	dir := t.TempDir()
	o, log := options(dir), newMessages()
	o.Log, o.BootstrapKubeconfig = log.log(), filepath.Join(dir, "bootstrap.conf")
	replace(t, o.BootstrapKubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{Token: "t"}))
	c := assert.Get(Join(o)).Must(t)
	assert.ErrorIs(t, ErrNotJoined, assert.ErrorOf(ask(t, c)), "before")
	assert.Runs(t, c.Run)
	log.await(t, "no certificate for the node yet")
	pair := ca.sign("system:node:n1", inAnHour())
	replace(t, o.Kubeconfig, kubeconfig(t, server.URL, ca.pem(), clientcmdapi.AuthInfo{ClientCertificateData: pair, ClientKeyData: pair}))
	<-c.Joined()
	expect(t, c, "system:node:n1")
}

func TestJoinErrors(t *testing.T) {
	ca := newAuthority(t)
	pair := ca.sign("system:node:n1", inAnHour())
	for name, test := range map[string]struct {
		content   []byte
		bootstrap string
		want      string
	}{
		"no kubeconfig":       {nil, "", "join cluster: there is no kubeconfig DIR/kubelet.conf: put one with the node's credentials there, or give a --bootstrap-kubeconfig to join with"},
		"no bootstrap either": {nil, "bootstrap.conf", "join cluster: there is no kubeconfig DIR/kubelet.conf, and no bootstrap kubeconfig DIR/bootstrap.conf: one of them has to be there"},
		"not YAML":            {[]byte("a: ["), "", "read kubeconfig DIR/kubelet.conf: "},
		"no context":          {[]byte("apiVersion: v1\nkind: Config\n"), "", "read kubeconfig DIR/kubelet.conf: "},
		"no certificate file": {kubeconfig(t, "https://127.0.0.1:1", ca.pem(), clientcmdapi.AuthInfo{ClientCertificate: "/none.pem", ClientKey: "/none.pem"}), "", "unable to read client-cert /none.pem"},
		"wrong key":           {kubeconfig(t, "https://127.0.0.1:1", ca.pem(), clientcmdapi.AuthInfo{ClientCertificateData: pair, ClientKeyData: ca.sign("x", inAnHour())}), "", "read kubeconfig DIR/kubelet.conf: client certificate: tls: private key does not match public key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := options(dir)
			if test.bootstrap != "" {
				o.BootstrapKubeconfig = filepath.Join(dir, test.bootstrap)
			}
			if test.content != nil {
				replace(t, o.Kubeconfig, test.content)
			}
			_, err := Join(o)
			assert.Require(t, err != nil, "no error")
			got := strings.ReplaceAll(err.Error(), dir, "DIR")
			assert.True(t, strings.Contains(got, test.want) && strings.HasPrefix(got, "join cluster: "), "got  %s\nwant …%s…", got, test.want)
		})
	}
}
