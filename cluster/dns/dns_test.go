package dns

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
)

func cluster() []runtime.Object {
	object := func(name string) meta.ObjectMeta { return meta.ObjectMeta{Namespace: "shop", Name: name} }
	tcp := []core.ServicePort{{Name: "http", Port: 80, Protocol: core.ProtocolTCP}}
	slice := object("db-1")
	slice.Labels = map[string]string{discovery.LabelServiceName: "db"}
	return []runtime.Object{
		&core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "shop"}},
		&core.Service{ObjectMeta: object("web"), Spec: core.ServiceSpec{ClusterIP: "10.43.7.7", ClusterIPs: []string{"10.43.7.7"}, Ports: tcp}},
		&core.Service{ObjectMeta: object("db"), Spec: core.ServiceSpec{ClusterIP: core.ClusterIPNone, ClusterIPs: []string{core.ClusterIPNone}, Ports: tcp}},
		&core.Service{ObjectMeta: object("away"), Spec: core.ServiceSpec{Type: core.ServiceTypeExternalName, ExternalName: "outside.example"}},
		&core.Service{ObjectMeta: object("alias"), Spec: core.ServiceSpec{Type: core.ServiceTypeExternalName, ExternalName: "web.shop.svc.cluster.local"}},
		&discovery.EndpointSlice{
			ObjectMeta: slice, AddressType: discovery.AddressTypeIPv4,
			Endpoints: []discovery.Endpoint{
				{Addresses: []string{"10.203.0.5"}, Hostname: new("db-0"), Conditions: discovery.EndpointConditions{Ready: new(true)}},
				{Addresses: []string{"10.203.0.6"}, Conditions: discovery.EndpointConditions{Ready: new(true)}},
				{Addresses: []string{"10.203.0.7"}, Conditions: discovery.EndpointConditions{Ready: new(false)}},
			},
			Ports: []discovery.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(core.ProtocolTCP)}},
		},
	}
}

// serve answers questions at an address on the loopback until the test ends.
func serve(t *testing.T, h dns.Handler) (address string) {
	s := assert.Get(listen(net.IPv4(127, 0, 0, 1), 0)).Must(t)
	t.Cleanup(s.close)
	for _, server := range []*dns.Server{{PacketConn: s.udp, Handler: h}, {Listener: s.tcp, Handler: h}} {
		go func() { _ = server.ActivateAndServe() }() // ends with the sockets
	}
	return s.udp.LocalAddr().String()
}

// world answers for any name ending in .example.
func world(w dns.ResponseWriter, question *dns.Msg) {
	m := new(dns.Msg).SetReply(question)
	switch q := question.Question[0]; {
	case !strings.HasSuffix(q.Name, ".example."):
		m.Rcode = dns.RcodeNameError
	case q.Qtype == dns.TypeA:
		m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(203, 0, 113, 9)}}
	}
	_ = w.WriteMsg(m) // a question without an answer fails the test
}

// begin is a server of the cluster, with a resolv.conf of its own.
func begin(t *testing.T, resolv string) (address string, client *fake.Clientset) {
	client = fake.NewClientset(cluster()...)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	began := make(chan string, 1)
	c := Config{
		Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Node: "n1",
		Address: net.IPv4(127, 0, 0, 1), ServiceIP: "10.43.0.10", Domain: "cluster.local", ResolvConf: resolv,
		Log: slog.New(beginning{slog.DiscardHandler, began}),
	}
	go func() { ended <- Run(ctx, c) }()
	t.Cleanup(func() {
		end()
		assert.NoError(t, <-ended, "at the end")
	})
	select {
	case address = <-began:
	case err := <-ended:
		t.Fatalf("ended with %v", err)
	}
	return address, client
}

// beginning tells where the server listens, out of its log.
type beginning struct {
	slog.Handler
	began chan string
}

func (b beginning) Enabled(context.Context, slog.Level) bool { return true }

func (b beginning) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "cluster DNS answers" {
		values := map[string]string{}
		r.Attrs(func(a slog.Attr) bool { values[a.Key] = a.Value.String(); return true })
		b.began <- net.JoinHostPort(values["address"], values["port"])
	}
	return nil
}

func ask(t *testing.T, network, address, name, kind string) *dns.Msg {
	t.Helper()
	client := dns.Client{Net: network, Timeout: 30 * time.Second}
	answer, _, err := client.Exchange(new(dns.Msg).SetQuestion(name, dns.StringToType[kind]), address)
	assert.Require(t, err == nil, "%s %s: %v", kind, name, err)
	return answer
}

// brief is an answer's code, its records without their fixed parts, and the type of the
// authority's record.
func brief(m *dns.Msg) []string {
	all := []string{}
	for _, r := range m.Answer {
		all = append(all, strings.Join(strings.Fields(strings.TrimPrefix(r.String(), r.Header().String())), " "))
	}
	slices.Sort(all)
	for _, r := range m.Ns {
		all = append(all, "authority "+dns.TypeToString[r.Header().Rrtype]+" "+r.Header().Name)
	}
	return append([]string{dns.RcodeToString[m.Rcode]}, all...)
}

// Records are those of the Kubernetes DNS specification 1.1.0, over UDP and TCP.
func TestRecords(t *testing.T) {
	address, _ := begin(t, filepath.Join(t.TempDir(), "absent"))
	const none = "authority SOA cluster.local."
	for _, test := range []struct {
		kind, name string
		want       []string
	}{
		{"TXT", "dns-version.cluster.local.", []string{"NOERROR", `"1.1.0"`}},
		{"A", "web.shop.svc.cluster.local.", []string{"NOERROR", "10.43.7.7"}},
		{"AAAA", "web.shop.svc.cluster.local.", []string{"NOERROR", none}},
		{"A", "WEB.shop.SVC.cluster.local.", []string{"NOERROR", "10.43.7.7"}},
		{"SRV", "_http._tcp.web.shop.svc.cluster.local.", []string{"NOERROR", "0 100 80 web.shop.svc.cluster.local."}},
		{"A", "db.shop.svc.cluster.local.", []string{"NOERROR", "10.203.0.5", "10.203.0.6"}},
		{"A", "db-0.db.shop.svc.cluster.local.", []string{"NOERROR", "10.203.0.5"}},
		{"SRV", "_http._tcp.db.shop.svc.cluster.local.", []string{"NOERROR",
			"0 50 8080 10-203-0-6.db.shop.svc.cluster.local.", "0 50 8080 db-0.db.shop.svc.cluster.local."}},
		{"A", "10-203-0-9.shop.pod.cluster.local.", []string{"NOERROR", "10.203.0.9"}},
		{"A", "10-203-0-9.none.pod.cluster.local.", []string{"NXDOMAIN", none}},
		{"A", "none.shop.svc.cluster.local.", []string{"NXDOMAIN", none}},
		{"A", "web.none.svc.cluster.local.", []string{"NXDOMAIN", none}},
		{"A", "shop.svc.cluster.local.", []string{"NOERROR", none}},
		{"CNAME", "away.shop.svc.cluster.local.", []string{"NOERROR", "outside.example."}},
		{"A", "alias.shop.svc.cluster.local.", []string{"NOERROR", "10.43.7.7", "web.shop.svc.cluster.local."}},
		{"PTR", "7.7.43.10.in-addr.arpa.", []string{"NOERROR", "web.shop.svc.cluster.local."}},
		{"PTR", "5.0.203.10.in-addr.arpa.", []string{"NOERROR", "db-0.db.shop.svc.cluster.local."}},
	} {
		for _, network := range []string{"udp", "tcp"} {
			t.Run(network+" "+test.kind+" "+test.name, func(t *testing.T) {
				assert.Deep(t, "answer", test.want, brief(ask(t, network, address, test.name, test.kind)))
			})
		}
	}
}

// A class that isn't the internet's, and no question at all.
func TestRefusals(t *testing.T) {
	address, _ := begin(t, filepath.Join(t.TempDir(), "absent"))
	question := new(dns.Msg).SetQuestion("web.shop.svc.cluster.local.", dns.TypeA)
	question.Question[0].Qclass = dns.ClassCHAOS
	answer, _, err := new(dns.Client).Exchange(question, address)
	assert.Must(t, err)
	assert.Deep(t, "class CHAOS", []string{"REFUSED"}, brief(answer))
}

// Names outside of the cluster are asked of the servers in resolv.conf, as it is at
// the time, and never of the cluster's own.
func TestOutside(t *testing.T) {
	_, port, err := net.SplitHostPort(serve(t, dns.HandlerFunc(world)))
	assert.Must(t, err)
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	o := &outside{file: resolv, never: "10.43.0.10", port: port, log: slog.New(slog.DiscardHandler)}
	t.Cleanup(o.close)
	address := serve(t, &handler{first: o, log: o.log})
	for age, test := range []struct {
		resolv string
		want   []string
	}{
		{"", []string{"SERVFAIL"}},
		{"nameserver 10.43.0.10\n", []string{"SERVFAIL"}},
		{"nameserver 10.43.0.10\nnameserver 127.0.0.1\n", []string{"NOERROR", "203.0.113.9"}},
	} {
		if test.resolv != "" {
			assert.Must(t, os.WriteFile(resolv, []byte(test.resolv), 0o600))
			at := time.Unix(int64(age), 0) // each is another one than before, however fast
			assert.Must(t, os.Chtimes(resolv, at, at))
		}
		assert.Deep(t, fmt.Sprintf("resolv.conf %q", test.resolv), test.want, brief(ask(t, "udp", address, "www.example.", "A")))
	}
	read, err := o.current()
	again, _ := o.current()
	assert.True(t, again == read && err == nil, "read again without a change, or %v", err)
}

// The world is not served, nodes with public addresses are.
func TestServes(t *testing.T) {
	client := fake.NewClientset(&core.Node{
		ObjectMeta: meta.ObjectMeta{Name: "n2"},
		Spec:       core.NodeSpec{PodCIDRs: []string{"198.51.100.0/24"}},
		Status:     core.NodeStatus{Addresses: []core.NodeAddress{{Type: core.NodeInternalIP, Address: "203.0.113.2"}}},
	})
	c := Config{Informers: informers.NewSharedInformerFactory(client, 0)}
	known := assert.Get(c.objects()).Must(t)
	c.Informers.Start(t.Context().Done())
	assert.Require(t, known.wait(t.Context()), "no objects")
	for from, want := range map[string]bool{
		"10.203.0.5:1000": true, "[::ffff:10.203.0.5]:1000": true, "127.0.0.1:1000": true, "100.100.1.2:1000": true, "[fd00::5]:1000": true,
		"203.0.113.2:1000": true, "198.51.100.7:1000": true, "203.0.113.3:1000": false, "[2001:db8::1]:1000": false,
	} {
		address := assert.Get(net.ResolveUDPAddr("udp", from)).Must(t)
		assert.Deep(t, fmt.Sprintf("%s served", from), want, (&handler{known: known}).serves(asker{address: address}))
	}
}

// asker is somebody at an address.
type asker struct {
	dns.ResponseWriter
	address net.Addr
}

func (a asker) RemoteAddr() net.Addr { return a.address }

// Pods find the server by a Service with the well-known names.
func TestPublish(t *testing.T) {
	address, client := begin(t, filepath.Join(t.TempDir(), "absent"))
	s := assert.Get(client.CoreV1().Services("kube-system").Get(t.Context(), "kube-dns", meta.GetOptions{})).Must(t)
	assert.True(t, s.Spec.ClusterIP == "10.43.0.10" && len(s.Spec.Selector) == 0, "service %+v", s.Spec)
	slice := assert.Get(client.DiscoveryV1().EndpointSlices("kube-system").Get(t.Context(), "kube-dns-n1", meta.GetOptions{})).Must(t)
	var got []string
	for _, p := range slice.Ports {
		got = append(got, fmt.Sprintf("%s %s %s", *p.Name, *p.Protocol, net.JoinHostPort(slice.Endpoints[0].Addresses[0], fmt.Sprint(*p.Port))))
	}
	assert.Deep(t, "endpoints", []string{"dns UDP " + address, "dns-tcp TCP " + address}, got)
}
