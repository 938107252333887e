package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	certutil "k8s.io/client-go/util/cert"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// fakeNode has the pods that a test gives it.
type fakeNode struct {
	logs string

	mu   sync.Mutex
	list []*v1.Pod
	sick error
	// unheard is closed when all pods are known; nil: they are.
	unheard <-chan struct{}
}

func (n *fakeNode) Pods() []*v1.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list
}

func (n *fakeNode) find(match func(*v1.Pod) bool) (*v1.Pod, bool) {
	for _, pod := range n.Pods() {
		if match(pod) {
			return pod, true
		}
	}
	return nil, false
}

func (n *fakeNode) Pod(namespace, name string) (*v1.Pod, bool) {
	return n.find(func(p *v1.Pod) bool { return p.Namespace == namespace && p.Name == name })
}

func (n *fakeNode) PodByUID(uid types.UID) (*v1.Pod, bool) {
	return n.find(func(p *v1.Pod) bool { return p.UID == uid })
}

func (n *fakeNode) Open(pod *v1.Pod, container string, instance int, dropped func()) Log {
	return LogFiles(func(*v1.Pod) string { return n.logs }).Open(pod, container, instance, dropped)
}

func (n *fakeNode) Complete() <-chan struct{} { return n.unheard }

func (n *fakeNode) Healthy() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sick
}

// set replaces all pods.
func (n *fakeNode) set(pods ...*v1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = pods
}

// testPod has one container, main, with a status.
func testPod(status v1.ContainerStatus) *v1.Pod {
	status.Name = "main"
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main"}}},
		Status:     v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{status}},
	}
}

func runningStatus(restarts int32) v1.ContainerStatus {
	s := v1.ContainerStatus{RestartCount: restarts, ContainerID: "containerd://c1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	if restarts > 0 {
		s.LastTerminationState.Terminated = &v1.ContainerStateTerminated{ContainerID: "containerd://c0"}
	}
	return s
}

// testConfig lets everybody do everything.
func testConfig(t *testing.T, node *fakeNode) Config {
	t.Helper()
	yes, no := true, false
	k := &kubeletconfig.KubeletConfiguration{Address: "127.0.0.1"}
	k.Authentication.Anonymous.Enabled, k.Authentication.Webhook.Enabled = &yes, &no
	k.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeAlwaysAllow
	return Config{Access: Access{NodeName: "n1"}, Kubelet: k, Node: node, Changes: &Changes{}, Log: slog.New(slog.DiscardHandler)}
}

// serve runs a server until the test ends.
func serveTest(t *testing.T, c Config) *Server {
	t.Helper()
	s := assert.Get(New(c)).Must(t)
	assert.Must(t, s.Listen())
	assert.Serves(t, s.Serve)
	return s
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	return &authority{assert.Get(certutil.NewSelfSignedCACert(certutil.Config{CommonName: "ca"}, key)).Must(t), key}
}

// sign makes a certificate of a user in groups, which serves 127.0.0.1, too.
func (a *authority) sign(t *testing.T, user string, groups ...string) tls.Certificate {
	t.Helper()
	key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: user, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der := assert.Get(x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)).Must(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// write writes the authority's certificate into a file as a whole, as
// Kubernetes' volumes and kubeadm do.
func (a *authority) write(t *testing.T, path string) {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	replace(t, path, string(text))
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	fresh := filepath.Join(t.TempDir(), "fresh")
	assert.Must(t, os.WriteFile(fresh, []byte(text), 0o600))
	assert.Must(t, os.Rename(fresh, path))
}

// client trusts an authority and may have a certificate.
func (a *authority) client(t *testing.T, certificates ...tls.Certificate) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certificates}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// reviewer is an API server that knows tokens and what may be done.
type reviewer struct {
	*fake.Clientset
	tokens  map[string]string // to users; "broken" can't be reviewed
	allowed map[string]bool   // "user verb subresource"

	mu    sync.Mutex
	asked []string
}

func newReviewer() *reviewer {
	r := &reviewer{Clientset: fake.NewClientset(), tokens: map[string]string{}, allowed: map[string]bool{}}
	r.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		r.note("token " + review.Spec.Token)
		name, ok := r.tokens[review.Spec.Token]
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok, User: authenticationv1.UserInfo{Username: name}}
		return true, review, nil
	})
	r.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		a := review.Spec.ResourceAttributes
		question := strings.Join([]string{review.Spec.User, a.Verb, a.Subresource}, " ")
		r.note(question + " of " + a.Resource + " " + a.Name + " " + strings.Join(review.Spec.Groups, ","))
		if review.Spec.User == "broken" {
			return true, nil, os.ErrPermission
		}
		review.Status.Allowed = r.allowed[question]
		return true, review, nil
	})
	return r
}

func (r *reviewer) note(question string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, question)
}

// questions are those that were asked since the last time.
func (r *reviewer) questions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// serving is the TLS configuration of a node.
func serving(t *testing.T, ca *authority) *tls.Config {
	t.Helper()
	return &tls.Config{Certificates: []tls.Certificate{ca.sign(t, "node")}}
}

func freePort(t *testing.T) int32 {
	t.Helper()
	l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer func() { _ = l.Close() }()
	return int32(l.Addr().(*net.TCPAddr).Port)
}
