package join

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/cluster-bootstrap/token/jws"

	"github.com/lifepod/lifepod/internal/assert"
)

const token = "abcdef.0123456789abcdef"

// server is an API server that tells of a cluster.
type server struct {
	*httptest.Server
	info      *v1.ConfigMap
	requests  []string                                      // paths, and whose token they had
	configure string                                        // kubelet-config
	node      *v1.Node                                      // that is there
	answer    func(http.ResponseWriter, *http.Request) bool // in its place, if true
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{configure: "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nclusterDNS: [10.43.0.10]\n"}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.tell(t, s.authority())
	return s
}

// authority is the server's own certificate, which vouches for itself.
func (s *server) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func (s *server) hash() string {
	sum := sha256.Sum256(s.Certificate().RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// tell signs cluster-info with the token.
func (s *server) tell(t *testing.T, authority []byte) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: s.URL, CertificateAuthorityData: authority}
	text := assert.Get(clientcmd.Write(*config)).Must(t)
	id, secret, _ := strings.Cut(token, ".")
	signature := assert.Get(jws.ComputeDetachedSignature(string(text), id, secret)).Must(t)
	s.info = &v1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		Data:     map[string]string{"kubeconfig": string(text), "jws-kubeconfig-" + id: signature},
	}
}

// foreignAuthority is one that has signed nothing here.
func foreignAuthority(t *testing.T) []byte {
	t.Helper()
	key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	c := assert.Get(certutil.NewSelfSignedCACert(certutil.Config{CommonName: "another"}, key)).Must(t)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.URL.Path+" "+r.Header.Get("Authorization"))
	if s.answer != nil && s.answer(w, r) {
		return
	}
	var object any
	switch r.URL.Path {
	case "/api/v1/namespaces/kube-public/configmaps/cluster-info":
		object = s.info
	case "/api/v1/namespaces/kube-system/configmaps/kubelet-config":
		object = &v1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"kubelet": s.configure}}
	case "/version":
		object = version.Info{GitVersion: "v1.37.2"}
	case "/api/v1/nodes/n2":
		if s.node == nil {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		object = s.node
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(&metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: reason, Code: int32(code), Message: "no",
	})
}

func (s *server) discover(i Invitation) (*Cluster, error) {
	if i.Server == "" {
		i.Server = s.URL
	}
	if i.Token == "" {
		i.Token = token
	}
	return Discover(context.Background(), i, slog.New(slog.DiscardHandler))
}

// TestDiscover: the right cluster is found, and the token is sent to nobody before
// it is known.
func TestDiscover(t *testing.T) {
	for _, i := range []Invitation{{Unpinned: true}, {Hashes: []string{"sha256:" + strings.Repeat("0", 64)}}} {
		s := newServer(t)
		if !i.Unpinned {
			i.Hashes = append(i.Hashes, s.hash())
		}
		c := assert.Get(s.discover(i)).Must(t)
		for _, r := range s.requests {
			assert.True(t, strings.HasSuffix(r, "cluster-info "), "before the cluster is known: %s", r)
		}
		text, err := c.NodeConfiguration(t.Context())
		assert.True(t, err == nil && text == s.configure, "configuration %q, %v", text, err)
		last := s.requests[len(s.requests)-1]
		assert.True(t, strings.HasSuffix(last, "kubelet-config Bearer "+token), "asked with %q", last)
		of, err := c.Version(t.Context())
		assert.True(t, err == nil && of == "v1.37.2", "version %q, %v", of, err)
	}
}

// TestDiscoverPins: of the authorities that cluster-info names only those with a given
// hash are trusted, in which every holder of a token could have put another.
func TestDiscoverPins(t *testing.T) {
	s := newServer(t)
	foreign := foreignAuthority(t)
	s.tell(t, slices.Concat(foreign, s.authority()))
	c := assert.Get(s.discover(Invitation{Hashes: []string{s.hash()}})).Must(t)
	assert.Deep(t, "trusted", string(s.authority()), string(c.Authority))
	block, _ := pem.Decode(foreign)
	other := assert.Get(x509.ParseCertificate(block.Bytes)).Must(t)
	sum := sha256.Sum256(other.RawSubjectPublicKeyInfo)
	_, err := s.discover(Invitation{Hashes: []string{"sha256:" + hex.EncodeToString(sum[:])}})
	assert.ErrorContains(t, "is not what the cluster's authority vouches for", err, "the server has another authority than the one of the hash")
	for _, r := range s.requests {
		assert.True(t, !strings.Contains(r, "Bearer"), "the token is sent: %s", r)
	}
}

// TestDiscoverRefuses: what isn't known to be the cluster is not joined, and no error
// has the token.
func TestDiscoverRefuses(t *testing.T) {
	for _, tc := range []struct {
		name       string
		invitation Invitation
		change     func(t *testing.T, s *server)
		want       string
	}{
		{name: "no URL", invitation: Invitation{Server: "192.0.2.1:6443", Unpinned: true}, want: `"192.0.2.1:6443": want the API server's address, https://HOST:PORT`},
		{name: "plain HTTP", invitation: Invitation{Server: "http://192.0.2.1", Unpinned: true}, want: "https://HOST:PORT"},
		{name: "no token", invitation: Invitation{Token: "abcdef.0123", Unpinned: true}, want: "the token has not the form ID.SECRET"},
		{name: "no hash", want: "without --ca-hash another server could pass itself off as the cluster"},
		{name: "no hash of ours", invitation: Invitation{Hashes: []string{"sha1:00"}}, want: `--ca-hash "sha1:00": want sha256:`},
		{name: "hash and none", invitation: Invitation{Hashes: []string{"sha256:" + strings.Repeat("0", 64)}, Unpinned: true}, want: "exclude each other"},
		{name: "hash of another", invitation: Invitation{Hashes: []string{"sha256:" + strings.Repeat("0", 64)}}, want: "is another cluster, or somebody in between: the digest of its authority is sha256:"},
		{name: "another secret", invitation: Invitation{Token: "abcdef.0123456789abcdee", Unpinned: true}, want: "does not know the token's secret"},
		{name: "changed on the way", invitation: Invitation{Unpinned: true}, want: "does not know the token's secret",
			change: func(_ *testing.T, s *server) { s.info.Data["kubeconfig"] += "# x" }},
		{name: "authority of another server", invitation: Invitation{Unpinned: true}, want: "is not what the cluster's authority vouches for",
			change: func(t *testing.T, s *server) { s.tell(t, foreignAuthority(t)) }},
		{name: "another answer when verified", invitation: Invitation{Unpinned: true}, want: "says something else when it is verified",
			change: func(t *testing.T, s *server) {
				s.answer = func(http.ResponseWriter, *http.Request) bool {
					if len(s.requests) == 2 {
						s.info.Data["kubeconfig"] += "# x"
					}
					return false
				}
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			if tc.change != nil {
				tc.change(t, s)
			}
			_, err := s.discover(tc.invitation)
			assert.Require(t, err != nil && strings.Contains(err.Error(), tc.want), "got %v, want …%s…", err, tc.want)
			assert.True(t, !strings.Contains(err.Error(), "0123"), "the token is told: %v", err)
			for _, r := range s.requests {
				assert.True(t, !strings.Contains(r, "Bearer"), "the token is sent: %s", r)
			}
		})
	}
}
