package routes

import (
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	simulated "github.com/lifepod/lifepod/sim/nodes"
)

// BlockBits is the size of the podCIDR that the cluster's controllers give a Node.
const BlockBits = 24

// hop is where a route leads.
type hop struct {
	node string
	at   netip.Addr // InternalIP
}

// claim is what a Node says of its pods' addresses. A node may write that itself, once,
// when its Node has none yet.
type claim struct {
	hop
	made time.Time // the Node
	cidr string
}

// claimOf is what matters here of a Node.
func claimOf(n *v1.Node) claim {
	c := claim{hop: hop{node: n.Name, at: internalIP(n)}, made: n.CreationTimestamp.Time, cidr: n.Spec.PodCIDR}
	if len(n.Spec.PodCIDRs) > 0 {
		c.cidr = n.Spec.PodCIDRs[0] // of several each is of another family, lifepod's are IPv4
	}
	return c
}

// block is the podCIDR, if the cluster's controllers can have given it: no other is
// believed, so that a node draws no other packets than those to pods, nor with a part of
// another's podCIDR those to that one's.
func (c claim) block(pods netip.Prefix) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(c.cidr)
	return p, err == nil && p.Bits() == BlockBits && p == p.Masked() && pods.Contains(p.Addr())
}

// plan is what follows from all Nodes.
type plan struct {
	Config
	own     netip.Prefix // this node's podCIDR; its pods are here also while it has no Node
	routes  map[netip.Prefix]hop
	refused map[string]string // podCIDRs by Node, to which there is no route although the Node has them
}

// decide says which routes there shall be.
func (p *plan) decide(nodes []*v1.Node) {
	before := p.refused
	p.routes, p.refused = map[netip.Prefix]hop{}, map[string]string{}
	claims := map[netip.Prefix][]claim{}
	for _, n := range nodes {
		if _, without := n.Labels[simulated.SimulatedLabel]; without {
			continue // its pods have no network, and its address belongs to a machine
		}
		said := claimOf(n)
		block, valid := said.block(p.Pods)
		switch {
		case n.Name == p.Node && valid:
			p.own = block
		case n.Name == p.Node:
		case valid:
			claims[block] = append(claims[block], said)
		case said.cidr != "":
			p.refused[n.Name] = said.cidr
		}
	}
	for block, list := range claims {
		p.settle(block, list)
	}
	for node, cidr := range p.refused {
		if before[node] != cidr {
			p.Log.Warn("no route to a node's pods: its podCIDR is not one that the cluster gives, or it is another node's", "node", node, "podCIDR", cidr)
		}
	}
}

// settle decides which Node has a podCIDR that several claim: the oldest one. The controllers give
// a podCIDR to one Node only, so a younger one has made it up; of two of the same age neither is
// believed. No other Node gets the podCIDR of this node.
func (p *plan) settle(block netip.Prefix, claims []claim) {
	slices.SortFunc(claims, func(a, b claim) int { return a.made.Compare(b.made) })
	first := claims[0]
	if len(claims) == 1 || claims[1].made.After(first.made) {
		claims = claims[1:]
	} else {
		first.at = netip.Addr{}
	}
	if block == p.own {
		first.at, claims = netip.Addr{}, append(claims, first)
	}
	for _, said := range claims {
		p.refused[said.node] = said.cidr
	}
	if first.at.IsValid() {
		p.routes[block] = first.hop
	}
}

func internalIP(n *v1.Node) netip.Addr {
	for _, a := range n.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil && a.Type == v1.NodeInternalIP && ip.Is4() {
			return ip
		}
	}
	return netip.Addr{}
}
