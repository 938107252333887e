package bridge

import (
	"errors"
	"fmt"
	"slices"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/netlinksafe"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/bundle/runtime/ipam"
)

// check fails if something that the result of ADD names is not there, or differs.
func check(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	result, err := c.previous()
	if err != nil {
		return err
	}
	if result == nil {
		return types.NewError(types.ErrInvalidNetworkConfig, "CHECK needs the previous result", "")
	}
	if err := checkStore(args); err != nil {
		return err
	}
	if err := c.checkCable(args, result); err != nil {
		return err
	}
	err = ns.WithNetNSPath(args.Netns, func(ns.NetNS) error { return checkPod(args.IfName, result) })
	if err != nil {
		return err
	}
	return c.forwards(args, result)
}

func checkStore(args *skel.CmdArgs) error {
	call, err := ipam.Begin(args, types.ErrIOFailure)
	if err != nil {
		return err
	}
	defer call.Close()
	return call.Check()
}

// checkCable looks at the bridge and at what is plugged into it.
func (c *config) checkCable(args *skel.CmdArgs, result *current.Result) error {
	bridge, err := bridgeByName(c.Bridge)
	if err != nil {
		return fmt.Errorf("bridge %s: %w", c.Bridge, err)
	}
	host, err := hostEnd(args.Netns, args.IfName)
	if err != nil {
		return err
	}
	if host == nil || host.Attrs().MasterIndex != bridge.Index {
		return fmt.Errorf("%s is not connected to the bridge %s", args.IfName, c.Bridge)
	}
	for _, link := range []netlink.Link{bridge, host} {
		if err := checkInterface(link, "", result); err != nil {
			return err
		}
	}
	return nil
}

// checkInterface compares an interface with the result, which has to name it.
func checkInterface(link netlink.Link, sandbox string, result *current.Result) error {
	name, mac := link.Attrs().Name, link.Attrs().HardwareAddr.String()
	i := slices.IndexFunc(result.Interfaces, func(i *current.Interface) bool {
		return i.Name == name && (i.Sandbox != "") == (sandbox != "")
	})
	if i < 0 {
		return fmt.Errorf("the previous result does not name %s", name)
	}
	if want := result.Interfaces[i]; want.Mac != "" && want.Mac != mac {
		return fmt.Errorf("%s has the MAC %s, want %s", name, mac, want.Mac)
	}
	return nil
}

// checkPod looks, in the pod's namespace, at its interface, addresses and routes.
func checkPod(name string, result *current.Result) error {
	link, err := netlinksafe.LinkByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := checkInterface(link, "pod", result); err != nil {
		return err
	}
	have, err := netlinksafe.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("list the addresses of %s: %w", name, err)
	}
	var errs []error
	for _, ip := range result.IPs {
		if !slices.ContainsFunc(have, func(a netlink.Addr) bool { return a.IPNet.String() == ip.Address.String() }) {
			errs = append(errs, fmt.Errorf("%s does not have the address %s", name, &ip.Address))
		}
	}
	for _, route := range result.Routes {
		errs = append(errs, checkRoute(link, route))
	}
	return errors.Join(errs...)
}

func checkRoute(link netlink.Link, want *types.Route) error {
	found := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: &want.Dst, Gw: want.GW}
	by := netlink.RT_FILTER_OIF | netlink.RT_FILTER_DST
	if want.GW != nil {
		by |= netlink.RT_FILTER_GW
	}
	if want.Table != nil {
		found.Table, by = *want.Table, by|netlink.RT_FILTER_TABLE
	}
	routes, err := netlinksafe.RouteListFiltered(netlink.FAMILY_V4, found, by)
	if err != nil {
		return fmt.Errorf("list the routes: %w", err)
	}
	if len(routes) == 0 {
		return fmt.Errorf("there is no route to %s by %s", &want.Dst, link.Attrs().Name)
	}
	return nil
}
