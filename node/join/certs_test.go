package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/lifepod/lifepod/internal/assert"
)

// authority signs the certificates of a test.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := newKey(t)
	cert := assert.Get(certutil.NewSelfSignedCACert(certutil.Config{CommonName: "test"}, key)).Must(t)
	return &authority{t, key, cert}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// sign gives certificate and key in one PEM text.
func (a *authority) sign(name string, expires time.Time) []byte {
	a.t.Helper()
	key := newKey(a.t)
	keyPEM := assert.Get(keyutil.MarshalPrivateKeyToPEM(key)).Must(a.t)
	return append(a.signKey(name, expires, key.Public()), keyPEM...)
}

func (a *authority) signKey(name string, expires time.Time, public any) []byte {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     expires,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der := assert.Get(x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)).Must(a.t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// serve starts a server that answers with the name of the client's certificate.
func (a *authority) serve() *httptest.Server {
	a.t.Helper()
	return a.serveWith(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			http.Error(w, "nobody", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(r.TLS.PeerCertificates[0].Subject.CommonName))
	}, nil)
}

// serveWith starts a server that calls connState for its connections, unless that is nil.
func (a *authority) serveWith(answer http.HandlerFunc, connState func(net.Conn, http.ConnState)) *httptest.Server {
	a.t.Helper()
	own := a.sign("server", inAnHour())
	pair := assert.Get(tls.X509KeyPair(own, own)).Must(a.t)
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	server := httptest.NewUnstartedServer(answer)
	server.Config.ConnState = connState
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: clients}
	server.StartTLS()
	a.t.Cleanup(server.Close)
	return server
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// replace puts a file into its place at once, as whoever renews credentials does.
func replace(t *testing.T, path string, data []byte) {
	t.Helper()
	assert.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.Must(t, os.WriteFile(path+".new", data, 0o600))
	assert.Must(t, os.Rename(path+".new", path))
}

// kubeconfig for a server and credentials.
func kubeconfig(t *testing.T, server string, ca []byte, auth clientcmdapi.AuthInfo) []byte {
	t.Helper()
	data := assert.Get(clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": &auth},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	})).Must(t)
	return data
}
