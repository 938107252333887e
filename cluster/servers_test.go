package cluster

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestReserved: no node gets a certificate of any server's name or address, also of one
// that is down, nor of an address of Services and pods.
func TestReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(
			&discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
				Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.9"}}},
			},
			&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.44.0.0/16"}}},
		)
		first := &layout{
			Config: Config{Node: "s1"}, identity: "s1_7e2d", advertise: net.IPv4(192, 0, 2, 1),
			services: netip.MustParsePrefix("10.43.0.0/16"), pods: netip.MustParsePrefix("10.42.0.0/16"),
		}
		second := &layout{Config: Config{Node: "s2"}, identity: "s2_91aa", advertise: net.IPv4(192, 0, 2, 2)}
		for _, l := range []*layout{first, second, second} {
			running, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- l.tellServer(running, client) }()
			synctest.Wait()
			stop() // it is down
			assert.Must(t, <-ended)
		}
		got := assert.Get(first.reserved(t.Context(), client)).Must(t)
		for _, name := range []string{"s1", "s2", "kubernetes.default.svc"} {
			assert.True(t, slices.Contains(got.Names, name), "names %q are without %s", got.Names, name)
		}
		for _, ip := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.9"} {
			assert.True(t, slices.ContainsFunc(got.IPs, net.ParseIP(ip).Equal), "addresses %v are without %s", got.IPs, ip)
		}
		for _, network := range []string{"10.42.0.0/16", "10.43.0.0/16", "10.44.0.0/16"} {
			assert.True(t, slices.Contains(got.Networks, netip.MustParsePrefix(network)), "networks %v are without %s", got.Networks, network)
		}
	})
}
