package routes

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/localnet"
)

// protocol marks our routes in the kernel's table; no routing daemon that
// iproute2 knows has it.
const protocol = 142

// table is the kernel's, as far as it is ours.
type table struct {
	pods   netip.Prefix
	log    *slog.Logger
	warned map[string]string // what was said of a node, so that it is said once
}

// apply makes our routes those that are wanted. All are tried; errors are those that
// may go away.
func (t *table) apply(want map[netip.Prefix]hop) error {
	have, err := ours(t.pods)
	if err != nil {
		return err
	}
	var errs []error
	for p, r := range have {
		if _, wanted := want[p]; wanted {
			continue
		}
		if err := remove(p, r); err != nil {
			errs = append(errs, err)
			continue
		}
		t.log.Info("route removed", "podCIDR", p)
	}
	for p, h := range want {
		if r, there := have[p]; there && r.Gw.Equal(h.at.AsSlice()) {
			continue
		}
		if r, there := have[p]; there { // also if there is no way to the new place
			if err := remove(p, r); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if err := t.add(p, h); err != nil {
			errs = append(errs, fmt.Errorf("route to the pods of node %s: %w", h.node, err))
		}
	}
	return errors.Join(errs...)
}

// add adds one, in the place of nobody else's: that may be the route to the pods of this
// machine. A node that isn't in a network of this machine can't be the next hop.
func (t *table) add(to netip.Prefix, h hop) error {
	link, err := direct(h.at)
	if errors.Is(err, unix.ENETUNREACH) {
		return nil // its network is away: when it is back the kernel tells
	}
	if err != nil {
		return err
	}
	if link == 0 {
		t.warnOnce(h, "pods of this node and of another one don't reach each other: the machines are in different networks. That needs a CNI that tunnels, such as flannel, instead of lifepod's pod network")
		return nil
	}
	err = netlink.RouteAdd(&netlink.Route{
		LinkIndex: link, Dst: network(to), Gw: h.at.AsSlice(), Protocol: protocol,
	})
	if errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("this machine has a route to %s that is not of lifepod", to)
	}
	if err == nil {
		delete(t.warned, h.node)
		t.log.Info("route added", "podCIDR", to, "node", h.node, "via", h.at)
	}
	return err
}

// warnOnce warns once of a node at an address.
func (t *table) warnOnce(h hop, what string) {
	if t.warned[h.node] != h.at.String() {
		t.warned[h.node] = h.at.String()
		t.log.Warn(what, "node", h.node, "address", h.at)
	}
}

// direct is the interface whose network contains an address; 0 if a router is in between, or the
// address is this machine's.
func direct(at netip.Addr) (link int, err error) {
	found, err := netlink.RouteGet(at.AsSlice())
	if err != nil {
		return 0, fmt.Errorf("find the way to %s: %w", at, err)
	}
	for _, r := range found {
		if r.Gw == nil && r.Type == unix.RTN_UNICAST {
			return r.LinkIndex, nil
		}
	}
	return 0, nil
}

// ours are the routes that this package has made for the pods of a cluster.
func ours(pods netip.Prefix) (map[netip.Prefix]netlink.Route, error) {
	list, err := localnet.WholeDump(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(unix.AF_INET, &netlink.Route{Protocol: protocol}, netlink.RT_FILTER_PROTOCOL)
	})
	if err != nil {
		return nil, fmt.Errorf("list the machine's routes: %w", err)
	}
	all := map[netip.Prefix]netlink.Route{}
	for _, r := range list {
		if p, ok := prefix(r.Dst); ok && pods.Contains(p.Addr()) {
			all[p] = r
		}
	}
	return all, nil
}

// Remove removes the routes to the pods of a cluster.
func Remove(pods netip.Prefix) error {
	have, err := ours(pods)
	if err != nil {
		return err
	}
	var errs []error
	for p, r := range have {
		errs = append(errs, remove(p, r))
	}
	return errors.Join(errs...)
}

func remove(p netip.Prefix, r netlink.Route) error {
	if err := netlink.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove the route to %s: %w", p, err)
	}
	return nil
}

func network(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	address, ok := netip.AddrFromSlice(n.IP.To4())
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(address, bits), ok
}
