package routes

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	simulated "github.com/lifepod/lifepod/sim/nodes"
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

// simulatedNode is a Node without a machine.
func simulatedNode(n *v1.Node) *v1.Node {
	n = n.DeepCopy()
	n.Labels = map[string]string{simulated.SimulatedLabel: "true"}
	return n
}

// made says how many seconds after the first a Node was made.
func made(seconds int, n *v1.Node) *v1.Node {
	n.CreationTimestamp = metav1.Unix(1e9+int64(seconds), 0)
	return n
}

// TestWanted: there are routes to the podCIDRs that the cluster's controllers give, each
// to the Node that was there first, and a node can't draw the traffic of others.
func TestWanted(t *testing.T) {
	victim := made(1, node("n2", "10.42.1.0/24", "192.0.2.2"))
	toVictim := map[string]string{"10.42.1.0/24": "192.0.2.2"}
	for name, test := range map[string]struct {
		nodes   []*v1.Node
		want    map[string]string
		refused string
	}{
		"another node":          {[]*v1.Node{victim}, toVictim, ""},
		"its IPv4 address":      {[]*v1.Node{node("n2", "10.42.1.0/24", "2001:db8::2", "192.0.2.2")}, toVictim, ""},
		"this node":             {[]*v1.Node{node("n1", "10.42.0.0/24", "192.0.2.1")}, nil, ""},
		"a simulated node":      {[]*v1.Node{simulatedNode(victim)}, nil, ""},
		"no podCIDR yet":        {[]*v1.Node{node("n2", "", "192.0.2.2")}, nil, ""},
		"no address yet":        {[]*v1.Node{node("n2", "10.42.1.0/24")}, nil, ""},
		"not addresses of pods": {[]*v1.Node{node("n2", "192.0.2.0/24", "192.0.2.2")}, nil, "n2"},
		"the whole world":       {[]*v1.Node{node("n2", "0.0.0.0/0", "192.0.2.2")}, nil, "n2"},

		"a part of another's":       {[]*v1.Node{made(9, node("n3", "10.42.1.128/25", "192.0.2.3")), victim}, toVictim, "n3"},
		"one address of another's":  {[]*v1.Node{made(9, node("n3", "10.42.1.7/32", "192.0.2.3")), victim}, toVictim, "n3"},
		"another's and more":        {[]*v1.Node{made(0, node("n3", "10.42.0.0/23", "192.0.2.3")), victim}, toVictim, "n3"},
		"not the begin of a block":  {[]*v1.Node{node("n3", "10.42.1.7/24", "192.0.2.3"), victim}, toVictim, "n3"},
		"another's":                 {[]*v1.Node{victim, made(9, node("n3", "10.42.1.0/24", "192.0.2.3"))}, toVictim, "n3"},
		"another's, listed first":   {[]*v1.Node{made(9, node("n3", "10.42.1.0/24", "192.0.2.3")), victim}, toVictim, "n3"},
		"another's, not there yet":  {[]*v1.Node{made(1, node("n2", "10.42.1.0/24")), made(9, node("n3", "10.42.1.0/24", "192.0.2.3"))}, nil, "n3"},
		"of the same age":           {[]*v1.Node{made(1, node("n3", "10.42.1.0/24", "192.0.2.3")), victim}, nil, "n2 n3"},
		"this node's":               {[]*v1.Node{made(1, node("n1", "10.42.0.0/24", "192.0.2.1")), made(9, node("n3", "10.42.0.0/24", "192.0.2.3"))}, nil, "n3"},
		"this node's, older":        {[]*v1.Node{made(1, node("n3", "10.42.0.0/24", "192.0.2.3")), made(9, node("n1", "10.42.0.0/24", "192.0.2.1"))}, nil, "n3"},
		"this node's, same age":     {[]*v1.Node{node("n3", "10.42.0.0/24", "192.0.2.3"), node("n1", "10.42.0.0/24", "192.0.2.1"), node("n4", "10.42.0.0/24", "192.0.2.4")}, nil, "n3 n4"},
		"a block of its own beside": {[]*v1.Node{victim, made(9, node("n3", "10.42.2.0/24", "192.0.2.3"))}, map[string]string{"10.42.1.0/24": "192.0.2.2", "10.42.2.0/24": "192.0.2.3"}, ""},
	} {
		p := plan{Config: Config{Node: "n1", Pods: pods, Log: slog.New(slog.DiscardHandler)}}
		p.decide(test.nodes)
		var got map[string]string
		for p, h := range p.routes {
			if got == nil {
				got = map[string]string{}
			}
			got[p.String()] = h.at.String()
		}
		assert.Deep(t, name, test.want, got)
		assert.Deep(t, fmt.Sprintf("%s: refused", name), test.refused, strings.Join(slices.Sorted(maps.Keys(p.refused)), " "))
	}
}

// TestWantedLater: this node's podCIDR stays its own while its Node is away, and a warning
// comes once.
func TestWantedLater(t *testing.T) {
	var log strings.Builder
	p := plan{Config: Config{Node: "n1", Pods: pods, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	attacker := node("n3", "10.42.0.0/24", "192.0.2.3")
	p.decide([]*v1.Node{node("n1", "10.42.0.0/24", "192.0.2.1"), attacker})
	p.decide([]*v1.Node{attacker})
	assert.True(t, len(p.routes) == 0, "routes while this node's Node is away: %v", p.routes)
	lines := strings.Count(log.String(), "\n")
	assert.True(t, lines == 1, "%d lines are logged:\n%s", lines, log.String())
	p.decide([]*v1.Node{node("n1", "10.42.5.0/24", "192.0.2.1"), attacker})
	assert.True(t, len(p.routes) == 1, "routes after this node was given another podCIDR: %v", p.routes)
}

// alone puts the test into a network namespace of its own, with the network
// 192.0.2.0/24. The thread ends with the test.
func alone(t *testing.T) netlink.Link {
	t.Helper()
	runtime.LockOSThread()
	own := assert.Get(netns.New()).Must(t)
	t.Cleanup(func() { _ = own.Close() })
	assert.Must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "lan"}, PeerName: "far"}))
	for _, name := range []string{"far", "lan"} {
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		assert.Must(t, err)
	}
	lan := assert.Get(netlink.LinkByName("lan")).Must(t)
	address, err := netlink.ParseAddr("192.0.2.1/24")
	if err == nil {
		err = netlink.AddrAdd(lan, address)
	}
	assert.Must(t, err)
	return lan
}

// TestApply: routes come, move and go, and nobody else's are touched.
func TestApply(t *testing.T) {
	lan := alone(t)
	foreign := netip.MustParsePrefix("10.99.1.0/24") // of another cluster's pods
	for _, r := range []netlink.Route{
		{LinkIndex: lan.Attrs().Index, Dst: network(foreign), Gw: netip.MustParseAddr("192.0.2.9").AsSlice(), Protocol: protocol},
		{Gw: netip.MustParseAddr("192.0.2.254").AsSlice()},
		{LinkIndex: lan.Attrs().Index, Dst: network(netip.MustParsePrefix("10.42.0.0/24")), Scope: netlink.SCOPE_LINK}, // of this machine's pods
	} {
		assert.Must(t, netlink.RouteAdd(&r))
	}
	table := &table{pods: pods, log: slog.New(slog.DiscardHandler), warned: map[string]string{}}
	have := func(step string, want map[string]string) {
		t.Helper()
		for within, want := range map[netip.Prefix]map[string]string{pods: want, foreign: {foreign.String(): "192.0.2.9"}} {
			list := assert.Get(ours(within)).Must(t)
			got := map[string]string{}
			for p, r := range list {
				got[p.String()] = r.Gw.String()
			}
			assert.Deep(t, fmt.Sprintf("%s: routes of %s", step, within), want, got)
		}
	}
	two, three := netip.MustParsePrefix("10.42.2.0/24"), netip.MustParsePrefix("10.42.3.0/24")
	at := func(a string) hop { return hop{node: "n" + a, at: netip.MustParseAddr(a)} }
	apply := func(want map[netip.Prefix]hop) {
		t.Helper()
		assert.NoError(t, table.apply(want))
	}
	apply(map[netip.Prefix]hop{two: at("192.0.2.2"), three: at("192.0.2.3")})
	have("two nodes", map[string]string{"10.42.2.0/24": "192.0.2.2", "10.42.3.0/24": "192.0.2.3"})
	apply(map[netip.Prefix]hop{two: at("192.0.2.4")})
	have("one moved, one is gone", map[string]string{"10.42.2.0/24": "192.0.2.4"})
	apply(map[netip.Prefix]hop{two: at("198.51.100.2"), three: at("192.0.2.3")})
	have("one is behind a router now", map[string]string{"10.42.3.0/24": "192.0.2.3"})
	assert.Deep(t, "told of", map[string]string{"n198.51.100.2": "198.51.100.2"}, table.warned)
	if err := table.apply(map[netip.Prefix]hop{three: at("192.0.2.3"), netip.MustParsePrefix("10.42.0.0/24"): at("192.0.2.2")}); err == nil || !strings.Contains(err.Error(), "10.42.0.0/24 that is not of lifepod") {
		t.Errorf("a route of somebody else is there: %v", err)
	}
	have("one is of somebody else", map[string]string{"10.42.3.0/24": "192.0.2.3"})
	assert.NoError(t, Remove(pods))
	have("all are removed", map[string]string{})
}
