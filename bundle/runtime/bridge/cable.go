package bridge

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/netlinksafe"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
)

// plug connects the pod to the bridge by a new cable, and configures its end of it.
// The interfaces are added to the result: bridge, this machine's end, the pod's.
func plug(bridge *netlink.Bridge, pod ns.NetNS, ifName string, result *current.Result) error {
	here, err := netlink.NewHandle(syscall.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("connect %s: %w", ifName, err)
	}
	defer here.Close()
	cable, err := makeCable(bridge, pod, ifName)
	if err != nil {
		return fmt.Errorf("connect %s: %w", ifName, err)
	}
	for _, ip := range result.IPs {
		ip.Interface = new(2)
	}
	var host netlink.Link
	end := &current.Interface{Name: ifName, Sandbox: pod.Path()}
	err = pod.Do(func(ns.NetNS) error {
		link, err := configurePod(end, result)
		if err != nil {
			return err
		}
		if host, err = awaitPort(here, cable.Attrs().Index); err != nil {
			return err
		}
		return announce(link)
	})
	if err != nil {
		return errors.Join(fmt.Errorf("connect %s: %w", ifName, err), netlink.LinkDel(cable))
	}
	result.Interfaces = []*current.Interface{
		{Name: bridge.Name, Mac: bridge.HardwareAddr.String()},
		{Name: host.Attrs().Name, Mac: host.Attrs().HardwareAddr.String()},
		end,
	}
	return nil
}

// announce makes the kernel tell all who are at the bridge which MAC has the addresses
// now (arp_notify): a pod's next sandbox has those of the one before. It has done so when
// the interface went up, before the bridge passed anything on.
func announce(link netlink.Link) error {
	if err := netlink.LinkSetHardwareAddr(link, link.Attrs().HardwareAddr); err != nil {
		return fmt.Errorf("announce its addresses: %w", err)
	}
	return nil
}

// queueLength is what the pod's end says of its queue, as any network card does; there is
// one only if the pod asks for it. This machine's end has none.
const queueLength = 1000

// makeCable is this machine's end of a new cable, plugged into the bridge.
func makeCable(bridge *netlink.Bridge, pod ns.NetNS, ifName string) (netlink.Link, error) {
	cable := &netlink.Veth{PeerName: ifName, PeerNamespace: netlink.NsFd(int(pod.Fd())), PeerTxQLen: queueLength}
	for {
		cable.Name = randomName()
		err := netlink.LinkAdd(cable)
		if err == nil {
			break
		}
		if _, taken := netlinksafe.LinkByName(cable.Name); !errors.Is(err, syscall.EEXIST) || taken != nil {
			return nil, fmt.Errorf("make a veth pair: %w", err)
		}
	}
	trySysctl("0", "ipv6", "conf", cable.Name, "accept_ra")
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"plug it into the bridge", func() error { return netlink.LinkSetMasterByIndex(cable, bridge.Index) }},
		{"let the pod reach itself", func() error { return netlink.LinkSetHairpin(cable, true) }},
		{"set it up", func() error { return netlink.LinkSetUp(cable) }},
	} {
		if err := step.do(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %s: %w", cable.Name, step.what, err), netlink.LinkDel(cable))
		}
	}
	return cable, nil
}

// randomName returns a name for an interface. NetworkManager ignores interfaces whose names begin with veth.
func randomName() string {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // it never fails
	return fmt.Sprintf("veth%x", random)
}

// configurePod gives the pod's end, in its namespace, addresses and routes.
func configurePod(end *current.Interface, result *current.Result) (netlink.Link, error) {
	link, err := netlinksafe.LinkByName(end.Name)
	if err != nil {
		return nil, err
	}
	end.Mac = link.Attrs().HardwareAddr.String()
	trySysctl("0", "ipv6", "conf", end.Name, "accept_dad") // nobody else has its address
	trySysctl("1", "ipv4", "conf", end.Name, "arp_notify")
	for _, ip := range result.IPs {
		address := &netlink.Addr{IPNet: &net.IPNet{IP: ip.Address.IP, Mask: ip.Address.Mask}}
		if err := netlink.AddrAdd(link, address); err != nil {
			return nil, fmt.Errorf("give it the address %s: %w", &ip.Address, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("set it up: %w", err)
	}
	for _, route := range result.Routes {
		if err := addRoute(link, route, result.IPs); err != nil {
			return nil, err
		}
	}
	return link, nil
}

// addRoute adds a route by its gateway, or by the address's.
func addRoute(link netlink.Link, r *types.Route, ips []*current.IPConfig) error {
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: &r.Dst, Gw: r.GW, Priority: r.Priority, MTU: r.MTU, AdvMSS: r.AdvMSS}
	for _, ip := range ips {
		if route.Gw == nil {
			route.Gw = ip.Gateway
		}
	}
	if r.Table != nil {
		route.Table = *r.Table
	}
	if r.Scope != nil {
		route.Scope = netlink.Scope(*r.Scope)
	}
	if err := netlink.RouteAddEcmp(route); err != nil {
		return fmt.Errorf("add the route to %s by %s: %w", &r.Dst, route.Gw, err)
	}
	return nil
}

// portPatience is how long the kernel may take until a cable carries.
const portPatience = 5 * time.Second

// awaitPort waits until the bridge forwards to a cable whose ends are both up: the
// kernel notices that in the background, within a fraction of a millisecond. It gives
// this machine's end, which is looked at from here.
func awaitPort(here *netlink.Handle, index int) (netlink.Link, error) {
	for end := time.Now().Add(portPatience); ; time.Sleep(200 * time.Microsecond) {
		host, err := here.LinkByIndex(index)
		if err != nil || host.Attrs().OperState == netlink.OperUp {
			return host, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("wait for the cable to carry: not within %v", portPatience)
		}
	}
}

// unplug takes the pod's cable out of the bridge. The cable goes with the namespace,
// and there is none where that has gone.
func unplug(netns, ifName string) error {
	host, err := hostEnd(netns, ifName)
	if err != nil || host == nil || host.Attrs().MasterIndex == 0 {
		return err
	}
	if err := netlink.LinkSetNoMaster(host); err != nil && !isGone(err) {
		return fmt.Errorf("unplug %s from its bridge: %w", host.Attrs().Name, err)
	}
	return nil
}

// hostEnd is this machine's end of the cable of a pod's interface; nil if there is none.
func hostEnd(netns, ifName string) (netlink.Link, error) {
	if netns == "" {
		return nil, nil
	}
	var pod netlink.Link
	err := ns.WithNetNSPath(netns, func(ns.NetNS) (err error) {
		pod, err = netlinksafe.LinkByName(ifName)
		return err
	})
	_, noPath := errors.AsType[ns.NSPathNotExistErr](err)
	_, noNamespace := errors.AsType[ns.NSPathNotNSErr](err)
	if noPath || noNamespace || isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for %s in %s: %w", ifName, netns, err)
	}
	if _, is := pod.(*netlink.Veth); !is {
		return nil, nil // not made by this plugin
	}
	host, err := netlink.LinkByIndex(pod.Attrs().ParentIndex)
	if isGone(err) || err == nil && host.Attrs().ParentIndex != pod.Attrs().Index {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the other end of %s in %s: %w", ifName, netns, err)
	}
	return host, nil
}

// isGone says that an interface does not exist, or does not any more.
func isGone(err error) bool {
	_, none := errors.AsType[netlink.LinkNotFoundError](err)
	return none || errors.Is(err, syscall.ENODEV)
}
