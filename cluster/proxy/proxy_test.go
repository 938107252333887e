package proxy

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

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
