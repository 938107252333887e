package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
)

// whereabouts are what may change in the machine's network while a cluster runs.
type whereabouts struct {
	routed string // address of the default route; "" without one
	gone   bool   // the cluster's address is on no interface any more
}

// watchAddress tells of changes of the machine's network that concern where the cluster
// is found, until ctx ends. The cluster stays where it is: its address is in what pods,
// nodes and certificates have.
func (r *run) watchAddress(ctx context.Context) error {
	routes, addresses := make(chan netlink.RouteUpdate), make(chan netlink.AddrUpdate)
	ctx, cancel := context.WithCancel(ctx) // ends both
	defer cancel()
	if err := netlink.RouteSubscribe(routes, ctx.Done()); err != nil {
		return fmt.Errorf("listen to changes of the machine's routes: %w", err)
	}
	if err := netlink.AddrSubscribe(addresses, ctx.Done()); err != nil {
		return fmt.Errorf("listen to changes of the machine's addresses: %w", err)
	}
	for known := (whereabouts{routed: r.advertise.String()}); ; {
		now, err := r.look()
		if err != nil {
			return err
		}
		r.tellMoved(known, now)
		known = now
		if !awaitMove(routes, addresses) {
			return errors.New("the kernel tells of no changes of the network any more")
		}
	}
}

// awaitMove returns when an IPv4 address or a default route has come or gone; false if
// nothing will be reported any more.
func awaitMove(routes <-chan netlink.RouteUpdate, addresses <-chan netlink.AddrUpdate) bool {
	for {
		select {
		case u, open := <-routes:
			if !open || u.Dst == nil || u.Dst.IP.IsUnspecified() {
				return open
			}
		case u, open := <-addresses:
			if !open || u.LinkAddress.IP.To4() != nil {
				return open
			}
		}
	}
}

func (r *run) look() (whereabouts, error) {
	now := whereabouts{gone: true}
	if routed := routedAddress(); routed != nil && r.address.IsUnspecified() {
		now.routed = routed.String()
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return now, fmt.Errorf("list the machine's addresses: %w", err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(r.advertise) {
			now.gone = false
		}
	}
	return now, nil
}

func (r *run) tellMoved(before, now whereabouts) {
	own := r.advertise.String()
	switch {
	case now.gone && !before.gone:
		r.Log.Warn("the address of the cluster is gone from this machine: pods find neither API server nor DNS until it is back, or lifepod up is started again", "address", own, "defaultRoute", now.routed)
	case !now.gone && before.gone:
		r.Log.Warn("the address of the cluster is back", "address", own)
	case now.routed != before.routed && now.routed != "" && now.routed != own:
		r.Log.Warn("the machine's default route has another address: the cluster stays at its own, and takes the other one when lifepod up is started again", "address", own, "defaultRoute", now.routed)
	}
}
