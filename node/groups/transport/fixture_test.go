package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	certutil "k8s.io/client-go/util/cert"

	"github.com/lifepod/lifepod/internal/assert"
)

// authority signs certificates; without a certificate of its own they are self-signed.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	return &authority{assert.Get(certutil.NewSelfSignedCACert(certutil.Config{CommonName: "ca"}, key)).Must(t), key}
}

// sign makes a certificate of a user in a group.
func (a *authority) sign(t testing.TB, user, group string, usages ...x509.ExtKeyUsage) tls.Certificate {
	t.Helper()
	key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: user, Organization: []string{group}},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: usages,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der := assert.Get(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)).Must(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// serve serves a node's API with a certificate.
func (a *authority) serve(t testing.TB, n *Node, certificate tls.Certificate) Peer {
	t.Helper()
	l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate}, ClientCAs: a.pool(), ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"},
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.ServePeer(w, r, strings.TrimPrefix(r.TLS.PeerCertificates[0].Subject.CommonName, UserPrefix))
		}),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	go func() { _ = server.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	return Peer{n.Name, l.Addr().String()}
}

// newNode is a node that reaches others by HTTPS, and is served.
func (a *authority) newNode(t testing.TB, name string) (*Node, Peer) {
	t.Helper()
	pair := a.sign(t, UserPrefix+name, UserGroup, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth)
	config := &tls.Config{RootCAs: a.pool(), Certificates: []tls.Certificate{pair}}
	n := New(Options{Name: name, Way: &HTTPS{TLS: func() (*tls.Config, error) { return config, nil }}, Log: slog.New(slog.DiscardHandler)})
	return n, a.serve(t, n, pair)
}

// inProcess is a node that reaches others in memory.
func inProcess(p *Process, name string) (*Node, Peer) {
	n := New(Options{Name: name, Way: p.Way(name), Log: slog.New(slog.DiscardHandler)})
	p.Add(n)
	return n, Peer{Name: name}
}

// testLeader knows where nodes are, and what they have reported.
type testLeader struct {
	peers sync.Map
	heard chan [2]string // node and report
}

func newLeader() *testLeader { return &testLeader{heard: make(chan [2]string, 10000)} }

func (l *testLeader) Joined(node, _ string, _ []byte) (answer []byte, address string, err error) {
	if node == "stranger" {
		return nil, "", errors.New("it has no members")
	}
	at, _ := l.peers.LoadOrStore(node, Peer{})
	return []byte("welcome " + node), at.(Peer).Address, nil
}

func (l *testLeader) Heard(node string, report []byte) { l.heard <- [2]string{node, string(report)} }

func (l *testLeader) Lost(node string) { l.heard <- [2]string{node, "lost"} }

// wants awaits these reports of nodes; others may come before.
func (l *testLeader) wants(t testing.TB, reports map[string]string) {
	t.Helper()
	for left := maps.Clone(reports); len(left) > 0; {
		select {
		case got := <-l.heard:
			if left[got[0]] == got[1] {
				delete(left, got[0])
			}
		case <-time.After(time.Minute):
			t.Fatalf("these reports are missing: %v", left)
		}
	}
}

// member is a node that joins again and again.
type member struct {
	*Node
	verdicts chan string

	mu     sync.Mutex
	joins  int
	group  *Group
	report string
}

func newMember(n *Node) *member { return &member{Node: n, verdicts: make(chan string, 100)} }

// live joins the group at the leader again and again, until ctx ends. ready is called when it has joined for the first time.
func (m *member) live(ctx context.Context, leader Peer, ready func()) {
	pauses := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 9, Cap: 2 * time.Second}
	for ; ctx.Err() == nil; time.Sleep(pauses.Step()) {
		g, _, err := m.Join(ctx, leader, "ns/train", nil, func(v []byte) { m.verdicts <- string(v) })
		if err != nil {
			continue
		}
		m.mu.Lock()
		m.group, m.joins = g, m.joins+1
		if m.report != "" {
			_ = g.Tell([]byte(m.report))
		}
		m.mu.Unlock()
		if ready != nil {
			ready()
			ready = nil
		}
		_ = g.Run(ctx)
	}
}

func (m *member) tell(t testing.TB, report string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report = report
	assert.Must(t, m.group.Tell([]byte(report)))
}

// wants awaits a verdict.
func (m *member) wants(t testing.TB, verdict string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case got := <-m.verdicts:
			if got == verdict {
				return
			}
		case <-late:
			t.Fatalf("%s does not get verdict %s", m.Name, verdict)
		}
	}
}
