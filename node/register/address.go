package register

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	nodeutil "k8s.io/component-helpers/node/util"
	netutils "k8s.io/utils/net"
)

// ParseNodeIPs reads --node-ip: empty, one address (0.0.0.0 and :: choose only the
// family), or one of each family.
func ParseNodeIPs(text string) ([]net.IP, error) {
	ips, invalid, err := nodeutil.ParseNodeIPArgument(text, "")
	if err == nil && len(invalid) > 0 {
		err = fmt.Errorf("%q is not an IP address", invalid[0])
	}
	if err != nil {
		return nil, fmt.Errorf("node IP %q: %w", text, err)
	}
	return ips, nil
}

// lookupTimeout bounds the question what addresses the node's name has.
const lookupTimeout = 5 * time.Second

// finder finds the addresses of a node.
type finder struct {
	name  string
	ips   []net.IP
	given []v1.NodeAddress // whatever the machine has; empty: they are looked for

	// The machine's: replaced in tests.
	onThisMachine func(net.IP) error
	lookup        func(ctx context.Context, network, host string) ([]net.IP, error)
	gateway       func(net.IP) (net.IP, error)
}

func newFinder(name string, ips []net.IP) *finder {
	return &finder{
		name: name, ips: ips,
		onThisMachine: onThisMachine,
		lookup:        net.DefaultResolver.LookupIP,
		gateway:       utilnet.ResolveBindAddress,
	}
}

// addresses are the node's as the API has them: one InternalIP per family and
// the hostname.
func (f *finder) addresses(ctx context.Context) ([]v1.NodeAddress, error) {
	if len(f.given) > 0 {
		return slices.Clone(f.given), nil
	}
	var given []net.IP
	for _, ip := range f.ips {
		if ip.IsUnspecified() {
			continue
		}
		if err := f.onThisMachine(ip); err != nil {
			return nil, fmt.Errorf("node IP %s: %w", ip, err)
		}
		given = append(given, ip)
	}
	if len(given) == 0 {
		ip, err := f.find(ctx)
		if err != nil {
			return nil, fmt.Errorf("find an IP address of node %q: %w", f.name, err)
		}
		given = []net.IP{ip}
	}
	var out []v1.NodeAddress
	for _, ip := range given {
		out = append(out, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip.String()})
	}
	return append(out, v1.NodeAddress{Type: v1.NodeHostName, Address: f.name}), nil
}

// find is the address of a node to which none was given: its name if that is
// one, the one of this machine that its name has, or the one of the default
// route. IPv4 is preferred, unless --node-ip is ::.
func (f *finder) find(ctx context.Context) (net.IP, error) {
	if ip := netutils.ParseIPSloppy(f.name); ip != nil {
		return ip, nil
	}
	var family net.IP
	if len(f.ips) > 0 {
		family = f.ips[0]
	}
	preferIPv4 := family == nil || family.To4() != nil

	ctx, done := context.WithTimeout(ctx, lookupTimeout)
	defer done()
	named, _ := f.lookup(ctx, "ip", f.name)
	named = slices.DeleteFunc(named, func(ip net.IP) bool { return f.onThisMachine(ip) != nil })
	for _, ip := range named {
		if (ip.To4() != nil) == preferIPv4 {
			return ip, nil
		}
	}
	if len(named) > 0 {
		return named[0], nil
	}
	return f.gateway(family)
}

// onThisMachine refuses addresses that other nodes could not reach this one by.
func onThisMachine(ip net.IP) error {
	switch {
	case ip.IsLoopback():
		return errors.New("it is a loopback address")
	case ip.IsMulticast():
		return errors.New("it is a multicast address")
	case ip.IsLinkLocalUnicast():
		return errors.New("it is a link-local address")
	case ip.IsUnspecified():
		return errors.New("it is the unspecified address")
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("list the machine's addresses: %w", err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.Equal(ip) {
			return nil
		}
	}
	return errors.New("no network interface of this machine has it")
}
