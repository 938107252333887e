package cluster

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// inNetwork runs a test in a process of its own, on a machine that has a loopback
// interface and no other. It is true in that process.
func inNetwork(t *testing.T) bool {
	t.Helper()
	if !ownProcess(t, "unshare", "--net") {
		return false
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	assert.Must(t, err)
	return true
}

// plug gives the machine a network with a default route, and unplug takes it away.
func plug(t *testing.T, address string) (unplug func()) {
	t.Helper()
	link := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "lan0"}}
	a := assert.Get(netlink.ParseAddr(address + "/24")).Must(t)
	gateway := a.IP.To4().Mask(a.Mask)
	gateway[3] = 254
	for _, err := range []error{
		netlink.LinkAdd(link), netlink.AddrAdd(link, a), netlink.LinkSetUp(link), netlink.RouteAdd(&netlink.Route{LinkIndex: link.Index, Gw: gateway}),
	} {
		assert.Must(t, err)
	}
	return func() {
		assert.NoError(t, netlink.LinkDel(link))
	}
}

// awaitFound returns when pods find the API server at an address, and nowhere else.
func (s *testCluster) awaitFound(t *testing.T, want string) {
	t.Helper()
	s.await(t, "where pods find the API server", func() error {
		slice, err := s.client.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
		if err != nil {
			return err
		}
		var at []string
		for _, e := range slice.Endpoints {
			at = append(at, e.Addresses...)
		}
		if !slices.Equal(at, []string{want}) {
			return fmt.Errorf("at %v, want %s", at, want)
		}
		return nil
	})
}

// A cluster begins on a machine without a default route, stays where it is when one comes
// or goes, and takes its address at the next start. All of that it says.
func TestWithoutDefaultRoute(t *testing.T) {
	if !inNetwork(t) {
		return
	}
	s := startCluster(t, Config{Disable: withoutNode})
	s.said(t, "this machine has no default route")
	l := assert.Get(s.layout()).Must(t)
	own := assert.Get(l.ownAddress()).Must(t)
	s.awaitFound(t, own.String())
	if link, err := net.InterfaceByName(ownLink(l.paths)); err != nil {
		t.Error(err)
	} else if list, err := link.Addrs(); err != nil || len(list) == 0 || list[0].String() != own.String()+"/32" {
		t.Errorf("addresses %v (%v), want %s/32", list, err, own)
	}
	unplug := plug(t, "192.0.2.5")
	s.said(t, "the machine's default route has another address")
	s.awaitFound(t, own.String())
	s.end()
	assert.NoError(t, <-s.ended)

	again := startCluster(t, s.Config)
	again.awaitFound(t, "192.0.2.5")
	assert.Fails(t, assert.ErrorOf(net.InterfaceByName(ownLink(l.paths))), "the interface that is not needed any more has stayed")
	unplug()
	again.said(t, "the address of the cluster is gone from this machine")
	assert.NoError(t, assert.ErrorOf(again.client.Discovery().ServerVersion()), "this machine does not reach the cluster any more")
	plug(t, "192.0.2.5")
	again.said(t, "the address of the cluster is back")
}
