package routes

import (
	"log/slog"
	"net/netip"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var pods = netip.MustParsePrefix("10.42.0.0/16")

func node(name, podCIDR string, addresses ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if podCIDR != "" {
		n.Spec.PodCIDRs = []string{podCIDR}
	}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: a})
	}
	return n
}

func TestWanted(t *testing.T) {
	for name, test := range map[string]struct {
		node *v1.Node
		want map[string]string
	}{
		"another node":          {node("n2", "10.42.1.0/24", "192.0.2.2"), map[string]string{"10.42.1.0/24": "192.0.2.2"}},
		"its IPv4 address":      {node("n2", "10.42.1.0/24", "2001:db8::2", "192.0.2.2"), map[string]string{"10.42.1.0/24": "192.0.2.2"}},
		"this node":             {node("n1", "10.42.0.0/24", "192.0.2.1"), nil},
		"no podCIDR yet":        {node("n2", "", "192.0.2.2"), nil},
		"no address yet":        {node("n2", "10.42.1.0/24"), nil},
		"not addresses of pods": {node("n2", "192.0.2.0/24", "192.0.2.2"), nil},
		"the whole world":       {node("n2", "0.0.0.0/0", "192.0.2.2"), nil},
	} {
		var got map[string]string
		for p, h := range wanted(Config{Node: "n1", Pods: pods}, test.node) {
			if got == nil {
				got = map[string]string{}
			}
			got[p.String()] = h.at.String()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// alone puts the test into a network namespace of its own, with the network
// 192.0.2.0/24. The thread ends with the test.
func alone(t *testing.T) netlink.Link {
	t.Helper()
	runtime.LockOSThread()
	own, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "lan"}, PeerName: "far"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"far", "lan"} {
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lan, err := netlink.LinkByName("lan")
	if err != nil {
		t.Fatal(err)
	}
	address, err := netlink.ParseAddr("192.0.2.1/24")
	if err == nil {
		err = netlink.AddrAdd(lan, address)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lan
}

// TestApply: routes come, move and go, and nobody else's are touched.
func TestApply(t *testing.T) {
	lan := alone(t)
	foreign := netip.MustParsePrefix("10.99.1.0/24") // of another cluster's pods
	for _, r := range []netlink.Route{
		{LinkIndex: lan.Attrs().Index, Dst: network(foreign), Gw: netip.MustParseAddr("192.0.2.9").AsSlice(), Protocol: protocol},
		{Gw: netip.MustParseAddr("192.0.2.254").AsSlice()},
	} {
		if err := netlink.RouteAdd(&r); err != nil {
			t.Fatal(err)
		}
	}
	table := &table{pods: pods, log: slog.New(slog.DiscardHandler), told: map[string]string{}}
	have := func(step string, want map[string]string) {
		t.Helper()
		for within, want := range map[netip.Prefix]map[string]string{pods: want, foreign: {foreign.String(): "192.0.2.9"}} {
			list, err := ours(within)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for p, r := range list {
				got[p.String()] = r.Gw.String()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: routes of %s (-want +got):\n%s", step, within, diff)
			}
		}
	}
	two, three := netip.MustParsePrefix("10.42.2.0/24"), netip.MustParsePrefix("10.42.3.0/24")
	at := func(a string) hop { return hop{node: "n" + a, at: netip.MustParseAddr(a)} }
	apply := func(want map[netip.Prefix]hop) {
		t.Helper()
		if err := table.apply(want); err != nil {
			t.Error(err)
		}
	}
	apply(map[netip.Prefix]hop{two: at("192.0.2.2"), three: at("192.0.2.3")})
	have("two nodes", map[string]string{"10.42.2.0/24": "192.0.2.2", "10.42.3.0/24": "192.0.2.3"})
	apply(map[netip.Prefix]hop{two: at("192.0.2.4")})
	have("one moved, one is gone", map[string]string{"10.42.2.0/24": "192.0.2.4"})
	apply(map[netip.Prefix]hop{two: at("198.51.100.2"), three: at("192.0.2.3")})
	have("one is behind a router now", map[string]string{"10.42.3.0/24": "192.0.2.3"})
	if diff := cmp.Diff(map[string]string{"n198.51.100.2": "198.51.100.2"}, table.told); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
	if err := Remove(pods); err != nil {
		t.Error(err)
	}
	have("all are removed", map[string]string{})
}
