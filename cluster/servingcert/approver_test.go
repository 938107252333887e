package servingcert

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/nodes"
)

func node(name string, addresses ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: name})
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: a})
	}
	return n
}

// request is a good one of node n2, unless it is changed.
func request(t *testing.T, change func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequest)) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	template := &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:n2", Organization: []string{"system:nodes"}},
		DNSNames: []string{"n2"}, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 2)},
	}
	r := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:n2", Groups: []string{"system:nodes", "system:authenticated"},
			Extra:  map[string]certificatesv1.ExtraValue{OriginKey: {"192.0.2.2"}},
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}
	if change != nil {
		change(template, r)
	}
	key := assert.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	der := assert.Get(x509.CreateCertificateRequest(rand.Reader, template, key)).Must(t)
	if r.Spec.Request == nil {
		r.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	}
	return r
}

// reserved are those of a cluster; reservedNames are among them, although a Node may be
// called so.
var (
	reserved = Reserved{
		Domain: "cluster.local", Names: []string{"kubernetes", "kubernetes.default", "server-2"}, IPs: []net.IP{net.IPv4(192, 0, 2, 1)},
		Networks: []netip.Prefix{netip.MustParsePrefix("10.43.0.0/16"), netip.MustParsePrefix("10.42.0.0/16")},
	}
	reservedNames = []string{
		"kubernetes", "kubernetes.default", "server-2", "localhost", "a.localhost", "web.default.svc", "kubernetes.default.svc",
		"web.default.svc.cluster.local", "svc.cluster.local", "n2.cluster.local", "cluster.local", "svc",
	}
)

// TestDecideNames: a Node that is called as a Service or a server gets no certificate of
// that name, but of its address.
func TestDecideNames(t *testing.T) {
	for _, name := range reservedNames {
		owner := node(name, "192.0.2.77")
		asks := func(change func(*x509.CertificateRequest)) string {
			r := request(t, func(in *x509.CertificateRequest, csr *certificatesv1.CertificateSigningRequest) {
				in.Subject.CommonName, csr.Spec.Username = userPrefix+name, userPrefix+name
				in.DNSNames, in.IPAddresses = []string{name}, []net.IP{net.IPv4(192, 0, 2, 77)}
				csr.Spec.Extra[OriginKey] = certificatesv1.ExtraValue{"192.0.2.77"}
				change(in)
			})
			if err := decide(r, owner, nil, reserved); err != nil {
				return err.Error()
			}
			return ""
		}
		assert.Deep(t, name, name+" is not for nodes", asks(func(*x509.CertificateRequest) {}))
		upper := strings.ToUpper(name) + "."
		assert.Deep(t, upper, upper+" is not for nodes", asks(func(in *x509.CertificateRequest) { in.DNSNames[0] = upper }))
		assert.Deep(t, fmt.Sprintf("only the address of %s", name), "", asks(func(in *x509.CertificateRequest) { in.DNSNames = nil }))
	}
}

// TestDecide: a node gets a certificate of its own, and of nobody else.
func TestDecide(t *testing.T) {
	type (
		in  = x509.CertificateRequest
		csr = certificatesv1.CertificateSigningRequest
	)
	a := &approver{}
	shared := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Nodes()
	a.nodes = shared.Lister()
	all := []*v1.Node{
		node("n1", "192.0.2.1"), node("n3", "192.0.2.3", "192.0.2.99"),
		node("n2", "192.0.2.2", "2001:db8::2", "10.43.0.1", "10.42.0.7", "192.0.2.1", "192.0.2.99", "127.0.0.1", "fe80::1", "::ffff:10.43.0.1", "x.corp.example", "n1"),
	}
	simulated := node("sim-0", "192.0.2.2") // on the machine of n2
	simulated.Labels = map[string]string{nodes.SimulatedLabel: "true"}
	for _, n := range append(all, simulated) {
		assert.Must(t, shared.Informer().GetStore().Add(n))
	}
	for _, tc := range []struct {
		name   string
		change func(*in, *csr)
		want   string
	}{
		{"its own", nil, ""},
		{"of another form", func(r *in, c *csr) {
			r.IPAddresses = []net.IP{net.ParseIP("2001:DB8:0::2")}
			r.DNSNames = []string{"N2"}
			c.Spec.Extra[OriginKey] = certificatesv1.ExtraValue{"2001:db8::2"}
		}, ""},
		{"an address that it does not ask from", func(r *in, c *csr) { r.IPAddresses = append(r.IPAddresses, net.ParseIP("2001:db8::2")) },
			`2001:db8::2 is not the address that the request came from ("192.0.2.2")`},
		{"from an unknown address", func(_ *in, c *csr) { c.Spec.Extra = nil }, `192.0.2.2 is not the address that the request came from ("")`},
		{"of an RSA key", func(_ *in, c *csr) { c.Spec.Usages = append(c.Spec.Usages, certificatesv1.UsageKeyEncipherment) }, ""},
		{"of a person", func(_ *in, c *csr) { c.Spec.Username = "me" }, "me is no node"},
		{"without the group", func(_ *in, c *csr) { c.Spec.Groups = nil }, "system:node:n2 is no node"},
		{"for another node", func(r *in, _ *csr) { r.Subject.CommonName = "system:node:n1" }, "its subject is CN=system:node:n1,O=system:nodes"},
		{"of another group", func(r *in, _ *csr) { r.Subject.Organization = []string{"system:masters"} }, "its subject is CN=system:node:n2,O=system:masters"},
		{"for a client", func(_ *in, c *csr) { c.Spec.Usages = append(c.Spec.Usages, certificatesv1.UsageClientAuth) }, `it is for "client auth"`},
		{"not for a server", func(_ *in, c *csr) { c.Spec.Usages = c.Spec.Usages[:1] }, `it is not for "server auth"`},
		{"without a Node", func(_ *in, c *csr) { c.Spec.Username = "system:node:n9" }, "there is no Node n9"},
		{"without an address", func(r *in, _ *csr) { r.DNSNames, r.IPAddresses = nil, nil }, "it has no address"},
		{"a name that isn't the Node's", func(r *in, _ *csr) { r.DNSNames = []string{"x"} }, "x is not the name of the Node"},
		{"a name that its Node claims", func(r *in, _ *csr) { r.DNSNames = []string{"n2", "x.corp.example"} }, "x.corp.example is not the name of the Node"},
		{"another node's name", func(r *in, _ *csr) { r.DNSNames = []string{"n1"} }, "n1 is not the name of the Node"},
		{"an address that isn't the Node's", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 7)} }, "192.0.2.7 is not an address of the Node"},
		{"the API server's address", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} }, "192.0.2.1 is not for nodes"},
		{"a Service's address", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.IPv4(10, 43, 0, 1)} }, "10.43.0.1 is not for nodes"},
		{"a Service's address as IPv6", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.ParseIP("::ffff:10.43.0.1")} }, "10.43.0.1 is not for nodes"},
		{"a pod's address", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.IPv4(10, 42, 0, 7)} }, "10.42.0.7 is not for nodes"},
		{"link-local", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.ParseIP("fe80::1")} }, "fe80::1 is not for nodes"},
		{"loopback", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} }, "127.0.0.1 is not for nodes"},
		{"the API server's name", func(r *in, _ *csr) { r.DNSNames = []string{"Kubernetes"} }, "Kubernetes is not for nodes"},
		{"another node's address", func(r *in, _ *csr) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 99)} }, "192.0.2.99 is an address of node n3, too"},
		{"a URI", func(r *in, _ *csr) { r.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, "it has e-mail addresses or URIs"},
		{"no request", func(_ *in, c *csr) { c.Spec.Request = []byte("x") }, "it is not one request in PEM"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			if err := a.decide(request(t, tc.change), reserved); err != nil {
				got = err.Error()
			}
			assert.Deep(t, "", tc.want, got)
		})
	}
}

// TestRun: a request that comes before its Node, or before the Node has the address, is approved
// when the Node has it, without a warning; those of other signers, or that people have answered,
// are left alone.
func TestRun(t *testing.T) {
	denied := request(t, nil)
	denied.Name = "denied"
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: v1.ConditionTrue}}
	other := request(t, func(_ *x509.CertificateRequest, c *certificatesv1.CertificateSigningRequest) {
		c.Spec.SignerName = "example.com/x"
	})
	other.Name = "other"
	for name, before := range map[string]*v1.Node{"without the Node": nil, "without its address": node("n2")} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(request(t, nil), denied, other)
			nodes := client.CoreV1().Nodes()
			come := func(n *v1.Node) error { _, err := nodes.Create(t.Context(), n, metav1.CreateOptions{}); return err }
			if before != nil {
				assert.Must(t, come(before))
				come = func(n *v1.Node) error {
					_, err := nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{})
					return err
				}
			}
			testRun(t, client, before == nil, func() error { return come(node("n2", "192.0.2.2")) })
		})
	}
}

// waits is a log that says when a request is not approved.
type waits struct {
	slog.Handler
	logged chan slog.Record
}

func (w waits) Enabled(context.Context, slog.Level) bool { return true }

func (w waits) Handle(_ context.Context, r slog.Record) error {
	w.logged <- r
	return nil
}

// testRun has the node come when the request of n2 waits for it.
func testRun(t *testing.T, client *fake.Clientset, quiet bool, come func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes := assert.Get(client.CertificatesV1().CertificateSigningRequests().Watch(ctx, metav1.ListOptions{})).Must(t)
	log, ended := waits{slog.DiscardHandler, make(chan slog.Record, 10)}, make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{
			Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Log: slog.New(log),
			Reserved: func(context.Context) (Reserved, error) { return reserved, nil },
		})
	}()
	record := <-log.logged
	assert.True(t, quiet == (record.Level < slog.LevelInfo), "it says %q with the level %s", record.Message, record.Level)
	assert.Must(t, come())
	for change := range changes.ResultChan() {
		if change.Type != watch.Modified {
			continue
		}
		got := change.Object.(*certificatesv1.CertificateSigningRequest)
		assert.True(t, got.Name == "csr" && got.Status.Conditions[0].Type == certificatesv1.CertificateApproved, "changed: %+v", got)
		break
	}
	cancel()
	assert.NoError(t, <-ended)
	for _, action := range client.Actions() {
		if update, is := action.(clienttesting.UpdateAction); is && action.GetSubresource() == "approval" {
			assert.Deep(t, "is answered", "csr", update.GetObject().(*certificatesv1.CertificateSigningRequest).Name)
		}
	}
}
