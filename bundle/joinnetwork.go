package bundle

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/internal/localnet"
)

// ErrNetworkInUse means that pods have addresses of another subnet: it can't be
// changed below them.
var ErrNetworkInUse = errors.New("pods have addresses of the previous subnet")

// Network is the part of a cluster's pod network that this root has, and that
// network. Both are invalid if nobody has called JoinNetwork.
func (r *Runtime) Network() (subnet, cluster netip.Prefix, err error) {
	n, err := recordedNetwork(r.paths)
	if err != nil || !n.Cluster.IsValid() {
		return netip.Prefix{}, netip.Prefix{}, err
	}
	return n.Subnet, n.Cluster, nil
}

// JoinNetwork gives the pods of this root addresses of subnet, for ever, and lets them
// talk with the rest of cluster, which has it, under these addresses. Routes are the
// caller's. The subnet can't change while pods have addresses: ErrNetworkInUse.
func (r *Runtime) JoinNetwork(ctx context.Context, subnet, cluster netip.Prefix) error {
	wrap := func(err error) error { return fmt.Errorf("give the pods the network %s: %w", subnet, err) }
	if !subnet.Addr().Is4() || subnet.Bits() > 29 || !cluster.Contains(subnet.Addr()) || cluster.Bits() > subnet.Bits() {
		return wrap(fmt.Errorf("want an IPv4 prefix of at most 29 bits, of %s", cluster))
	}
	before, err := recordedNetwork(r.paths)
	if err != nil {
		return wrap(err)
	}
	after := network{Subnet: subnet.Masked(), Cluster: cluster.Masked(), Filter: before.Filter}
	if before == after {
		return nil
	}
	if before.Subnet != after.Subnet {
		if err := freeBridge(r.paths.Bridge()); err != nil {
			return wrap(err)
		}
	}
	if before.Filter == iptables { // a table of nft is replaced
		if err := before.unmasquerade(ctx, r.paths.FilterTable()); err != nil {
			r.log.Warn("a rule of the previous pod network is left", "err", err)
		}
	}
	filter, err := after.masquerade(ctx, r.paths.FilterTable())
	if ctx.Err() != nil {
		return wrap(context.Cause(ctx))
	}
	if err != nil {
		r.log.Warn("pods reach nothing beyond this machine", "err", err)
	}
	after.Filter = filter
	if err := after.settle(r.paths); err != nil { // containerd notices the change of its file
		return wrap(err)
	}
	return nil
}

// freeBridge removes a bridge that has an address of another subnet; the first pod
// makes it again. It is not done while pods are connected to it.
func freeBridge(name string) error {
	bridge, err := netlink.LinkByName(name)
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	links, err := localnet.WholeDump(netlink.LinkList)
	if err != nil {
		return fmt.Errorf("list the interfaces: %w", err)
	}
	for _, l := range links {
		if l.Attrs().MasterIndex == bridge.Attrs().Index {
			return ErrNetworkInUse
		}
	}
	return removeLink(name)
}
