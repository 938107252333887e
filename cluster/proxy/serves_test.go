package proxy

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/knftables"

	"github.com/lifepod/lifepod/internal/assert"
)

func apiServer() (*core.Service, *discovery.EndpointSlice) {
	service := webService("kubernetes")
	service.Spec.ClusterIP, service.Spec.ClusterIPs = "10.43.0.1", []string{"10.43.0.1"}
	service.Spec.Ports = []core.ServicePort{{Name: "https", Port: 443, Protocol: core.ProtocolTCP}}
	return service, &discovery.EndpointSlice{
		ObjectMeta:  meta.ObjectMeta{Namespace: "default", Name: "kubernetes", Labels: map[string]string{discovery.LabelServiceName: "kubernetes"}},
		AddressType: discovery.AddressTypeIPv4,
		Endpoints:   []discovery.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discovery.EndpointConditions{Ready: new(true)}}},
		Ports:       []discovery.EndpointPort{{Name: new("https"), Port: new(int32(6443)), Protocol: new(core.ProtocolTCP)}},
	}
}

// That the API server's Service serves is told when its rules are in place: not with
// those of others, and not before it has an endpoint.
func TestTellsThatTheAPIServerServes(t *testing.T) {
	service, slice := apiServer()
	client := fake.NewClientset(webService("web"), webSlice(true), service)
	table := watchedTable{knftables.NewFake(knftables.IPv4Family, "test"), make(chan string)}
	served := make(chan struct{}, 2)
	c := Config{
		Informers: informers.NewSharedInformerFactory(client, 0), Node: "n1", NodeIP: net.IPv4(192, 0, 2, 1),
		Table: "test", APIServer: net.ParseIP("10.43.0.1"), Serves: func() { served <- struct{}{} }, Log: slog.New(slog.DiscardHandler),
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.serve(ctx, table) }()
	table.until(t, "a Service without endpoints", has("no-endpoint-services { 10.43.0.1 . tcp . 443 "))
	assert.True(t, len(served) == 0, "it is told before there is an endpoint")
	slices := client.DiscoveryV1().EndpointSlices("default")
	assert.Must(t, assert.ErrorOf(slices.Create(ctx, slice, meta.CreateOptions{})))
	table.until(t, "the endpoint", has("dnat to 192.0.2.1:6443"))
	select {
	case <-served:
	case <-time.After(time.Minute):
		t.Error("it is not told")
	}
	end()
	for {
		select {
		case <-table.changed:
			continue
		case err := <-ended:
			assert.NoError(t, err)
		}
		return
	}
}

// Rules that have stayed are found in the kernel's table.
func TestServes(t *testing.T) {
	const table = "lifepod_serves_test"
	nft := func(script string) {
		t.Helper()
		command := exec.Command("nft", "-f", "-")
		command.Stdin = strings.NewReader(script)
		out, err := command.CombinedOutput()
		assert.Require(t, err == nil, "%v: %s", err, out)
	}
	address := net.ParseIP("10.43.0.1")
	assert.True(t, !Serves(t.Context(), table, address), "it serves without a table")
	nft("add table ip " + table + "; add chain ip " + table + " reject-chain\n" +
		"add map ip " + table + " service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; }\n" +
		"add element ip " + table + " service-ips { 10.43.0.10 . tcp . 443 : goto reject-chain }\n")
	t.Cleanup(func() { nft("delete table ip " + table) })
	assert.True(t, !Serves(t.Context(), table, address), "another service is taken for it")
	nft("add element ip " + table + " service-ips { 10.43.0.1 . tcp . 443 : goto reject-chain }\n")
	assert.True(t, Serves(t.Context(), table, address), "it is not found")
}
