// Package ownlink is a network interface that a cluster has for itself: a bridge without
// ports. On a machine without a default route it has the address at which the pods of
// this machine find the cluster; no other machine reaches it.
package ownlink

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Add makes the interface, with the address, as far as it isn't there.
func Add(name string, address netip.Addr) error {
	wrap := func(err error) error { return fmt.Errorf("make the interface %s: %w", name, err) }
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil && !errors.Is(err, unix.EEXIST) {
		return wrap(err)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return wrap(err)
	}
	only := &netlink.Addr{IPNet: &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(address.BitLen(), address.BitLen())}}
	if err := netlink.AddrReplace(link, only); err != nil {
		return wrap(err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return wrap(err)
	}
	return nil
}

// Remove removes the interface, if it is there.
func Remove(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	var gone netlink.LinkNotFoundError
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("remove the interface %s: %w", name, err)
	}
	return nil
}
