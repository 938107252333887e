package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/knftables"

	"github.com/lifepod/lifepod/internal/assert"
)

// watchedTable is a table in memory that says when it has changed.
type watchedTable struct {
	*knftables.Fake
	changed chan string // the table's rules
}

func (t watchedTable) Run(ctx context.Context, change *knftables.Transaction) error {
	if err := t.Fake.Run(ctx, change); err != nil {
		return err
	}
	t.changed <- t.Dump()
	return nil
}

// until returns when the table is as wanted.
func (t watchedTable) until(test *testing.T, what string, wanted func(rules string) bool) {
	test.Helper()
	ctx := assert.Context(test, time.Minute)
	var last string
	for {
		select {
		case last = <-t.changed:
			if wanted(last) {
				return
			}
		case <-ctx.Done():
			test.Fatalf("%s: never in the table, whose last content was:\n%s", what, last)
		}
	}
}

func has(text string) func(string) bool {
	return func(rules string) bool { return strings.Contains(rules, text) }
}

func hasNot(text string) func(string) bool {
	return func(rules string) bool { return !strings.Contains(rules, text) }
}

func webService(name string) *core.Service {
	return &core.Service{
		ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: name},
		Spec: core.ServiceSpec{
			Type: core.ServiceTypeClusterIP, ClusterIP: "10.43.7.7", ClusterIPs: []string{"10.43.7.7"},
			IPFamilies: []core.IPFamily{core.IPv4Protocol},
			Ports:      []core.ServicePort{{Name: "http", Port: 80, Protocol: core.ProtocolTCP}},
		},
	}
}

func webSlice(ready bool) *discovery.EndpointSlice {
	return &discovery.EndpointSlice{
		ObjectMeta:  meta.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discovery.LabelServiceName: "web"}},
		AddressType: discovery.AddressTypeIPv4,
		Endpoints: []discovery.Endpoint{
			{Addresses: []string{"10.203.0.5"}, Conditions: discovery.EndpointConditions{Ready: new(true)}},
			{Addresses: []string{"10.203.0.6"}, Conditions: discovery.EndpointConditions{Ready: new(ready)}},
		},
		Ports: []discovery.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(core.ProtocolTCP)}},
	}
}

// A change of a Service, of a pod's readiness, and of who is responsible reaches the
// table; nothing is told to it after the end.
func TestFollows(t *testing.T) {
	client := fake.NewClientset(
		webService("web"), webSlice(true),
		&networking.ServiceCIDR{ObjectMeta: meta.ObjectMeta{Name: "kubernetes"}, Spec: networking.ServiceCIDRSpec{CIDRs: []string{"10.43.0.0/16"}}},
	)
	table := watchedTable{knftables.NewFake(knftables.IPv4Family, "test"), make(chan string)}
	c := Config{
		Informers: informers.NewSharedInformerFactory(client, 0), Node: "n1", NodeIP: net.IPv4(192, 0, 2, 1),
		Bridge: "lifepod0", Table: "test", Log: slog.New(slog.DiscardHandler),
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.serve(ctx, table) }()

	const both = "map { 0 : 10.203.0.5 . 8080 , 1 : 10.203.0.6 . 8080 }"
	table.until(t, "two pods", func(rules string) bool {
		return has(both)(rules) && has(`iifname != lifepod0`)(rules) && has("ip daddr { 10.43.0.0/16 } drop")(rules)
	})

	slices := client.DiscoveryV1().EndpointSlices("default")
	assert.Must(t, assert.ErrorOf(slices.Update(ctx, webSlice(false), meta.UpdateOptions{})))
	table.until(t, "the ready pod only", has("dnat to 10.203.0.5:8080"))

	other := webService("web")
	other.Labels = map[string]string{"service.kubernetes.io/service-proxy-name": "mesh"}
	assert.Must(t, assert.ErrorOf(client.CoreV1().Services("default").Update(ctx, other, meta.UpdateOptions{})))
	table.until(t, "no service of another proxy", hasNot("10.43.7.7 . tcp . 80"))

	end()
	for {
		select {
		case <-table.changed:
			continue
		case err := <-ended:
			assert.Must(t, err)
		}
		return
	}
}

func TestRefusesIPv6(t *testing.T) {
	err := Run(t.Context(), Config{NodeIP: net.ParseIP("fd00::1")})
	assert.ErrorContains(t, "fd00::1", err)
}

// Without nft the error names the package to install.
func TestNeedsNft(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	assert.ErrorContains(t, "install the package nftables", Check())
	assert.NoError(t, Remove(t.Context(), "lifepod_test"), "removal where there is no nft")
}

// TestTracksConnections: the kernel's times are kube-proxy's then.
func TestTracksConnections(t *testing.T) {
	runtime.LockOSThread() // for good: the thread, and its network, end with the test
	assert.Must(t, unix.Unshare(unix.CLONE_NEWNET))
	for range 2 {
		assert.Must(t, trackConnections(t.Context()))
		for name, want := range map[string]string{"established": "86400", "close_wait": "3600"} {
			got, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_" + name)
			assert.True(t, err == nil && strings.TrimSpace(string(got)) == want, "%s: %s, %v, want %s", name, got, err, want)
		}
	}
}

func TestOthers(t *testing.T) {
	machine := func(_ context.Context, name string, arguments ...string) (string, error) {
		switch call := name + " " + strings.Join(arguments, " "); call {
		case "nft list tables ip":
			return "table ip nat\ntable ip lifepod_1_services\ntable ip lifepod_2_services\ntable ip lifepod_3_services\ntable ip kube-proxy\n", nil
		case "nft get element ip lifepod_2_services cluster-ips { 10.43.0.1 }", "nft get element ip kube-proxy cluster-ips { 10.43.0.1 }":
			return "table ip …", nil
		case "iptables -w -t nat -S KUBE-SERVICES":
			return "-N KUBE-SERVICES\n-A KUBE-SERVICES -d 10.43.0.1/32 -p tcp -j KUBE-SVC-NPX\n", nil
		}
		return "", errors.New("no such thing")
	}
	want := []string{"nftables table lifepod_2_services", "nftables table kube-proxy", "iptables chain KUBE-SERVICES"}
	assert.Deep(t, "others", want, others(t.Context(), machine, "lifepod_1_services", "10.43.0.1"))
	assert.Empty(t, others(t.Context(), machine, "lifepod_1_services", "10.43.0.2"), "others with 10.43.0.2")
}

// A table that is listed as nft does it without /etc/protocols.
func TestProtocolsByName(t *testing.T) {
	table := knftables.NewFake(knftables.IPv4Family, "test")
	filling := table.NewTransaction()
	filling.Add(&knftables.Table{})
	for set, elements := range map[string][]string{
		"cluster-ips":          {"10.43.0.6"},
		"service-ips":          {"10.43.0.6 . 6 . 80", "10.43.0.6 . 17 . 6", "10.43.0.6 . udp . 53"},
		"service-nodeports":    {"132 . 30080"},
		"hairpin-connections":  {"10.42.0.2 . 10.42.0.2 . 6 . 17"},
		"affinity-of-services": {},
	} {
		filling.Add(&knftables.Set{Name: set, Type: "any"})
		for _, key := range elements {
			filling.Add(&knftables.Element{Set: set, Key: strings.Split(key, " . ")})
		}
	}
	assert.Must(t, table.Run(t.Context(), filling))
	for set, want := range map[string][]string{
		"cluster-ips":          {"10.43.0.6"},
		"service-ips":          {"10.43.0.6 . tcp . 80", "10.43.0.6 . udp . 6", "10.43.0.6 . udp . 53"},
		"service-nodeports":    {"sctp . 30080"},
		"hairpin-connections":  {"10.42.0.2 . 10.42.0.2 . tcp . 17"},
		"affinity-of-services": nil,
	} {
		elements := assert.Get(named{table}.ListElements(t.Context(), "set", set)).Must(t)
		var got []string
		for _, e := range elements {
			got = append(got, strings.Join(e.Key, " . "))
		}
		assert.Deep(t, fmt.Sprint(set), want, got)
	}
	_, err := (named{table}).ListElements(t.Context(), "set", "missing")
	assert.True(t, knftables.IsNotFound(err), "a set that is not there: %v", err)
}
