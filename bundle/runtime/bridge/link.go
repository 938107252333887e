package bridge

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/netlinksafe"
	"github.com/vishvananda/netlink"
)

// ensureBridge is the bridge, up and with the gateways of some addresses; it is made
// if it is not there. Other calls may be doing the same.
func ensureBridge(name string, ips []*current.IPConfig) (*netlink.Bridge, error) {
	bridge, err := bridgeByName(name)
	if isGone(err) {
		bridge, err = makeBridge(name)
	}
	if err != nil {
		return nil, fmt.Errorf("bridge %s: %w", name, err)
	}
	if bridge.Flags&net.FlagUp == 0 {
		trySysctl("0", "ipv6", "conf", name, "accept_ra") // its routes are ours
		if err := netlink.LinkSetUp(bridge); err != nil {
			return nil, fmt.Errorf("bridge %s: set it up: %w", name, err)
		}
	}
	for _, ip := range ips {
		if err := ensureGateway(bridge, &net.IPNet{IP: ip.Gateway, Mask: ip.Address.Mask}); err != nil {
			return nil, fmt.Errorf("bridge %s: %w", name, err)
		}
	}
	return bridge, ensureSysctl("1", "ipv4", "ip_forward")
}

func bridgeByName(name string) (*netlink.Bridge, error) {
	link, err := netlinksafe.LinkByName(name)
	if err != nil {
		return nil, err
	}
	bridge, is := link.(*netlink.Bridge)
	if !is {
		return nil, fmt.Errorf("there is an interface of that name, which is no bridge but %s", link.Type())
	}
	return bridge, nil
}

// makeBridge gives the bridge a MAC of its own from the start: else it has the lowest
// of what is plugged into it, which changes with the pods.
func makeBridge(name string) (*netlink.Bridge, error) {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.HardwareAddr = name, randomMAC()
	err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes})
	if err != nil && !errors.Is(err, syscall.EEXIST) {
		return nil, fmt.Errorf("make it: %w", err)
	}
	return bridgeByName(name)
}

// randomMAC is locally administered, and no group's.
func randomMAC() net.HardwareAddr {
	mac := make(net.HardwareAddr, 6)
	_, _ = rand.Read(mac) // it never fails
	mac[0] = mac[0]&^1 | 2
	return mac
}

// ensureGateway gives the bridge an address. One of another subnet is not replaced:
// there are pods that use it.
func ensureGateway(bridge *netlink.Bridge, gateway *net.IPNet) error {
	have, err := netlinksafe.AddrList(bridge, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list its addresses: %w", err)
	}
	switch {
	case len(have) == 0:
	case have[0].IPNet.String() == gateway.String():
		return nil
	default:
		return fmt.Errorf("it has the address %s, and not %s", have[0].IPNet, gateway)
	}
	if err := netlink.AddrAdd(bridge, &netlink.Addr{IPNet: gateway}); err != nil && !errors.Is(err, syscall.EEXIST) {
		return fmt.Errorf("give it the address %s: %w", gateway, err)
	}
	// Set by whoever made the bridge, the MAC may still be that of a cable.
	if err := netlink.LinkSetHardwareAddr(bridge, bridge.HardwareAddr); err != nil {
		return fmt.Errorf("keep its MAC: %w", err)
	}
	return nil
}

// ensureSysctl sets a value of the current network namespace, unless it has it: a
// read costs nothing, and what is right can be read-only.
func ensureSysctl(value string, name ...string) error {
	path := sysctlPath(name)
	if have, err := os.ReadFile(path); err == nil && string(bytes.TrimSpace(have)) == value {
		return nil
	}
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		return fmt.Errorf("set %s to %s: %w", path, value, err)
	}
	return nil
}

func sysctlPath(name []string) string {
	return filepath.Join(append([]string{"/proc/sys/net"}, name...)...)
}

// trySysctl is for what not every kernel has, such as one without IPv6.
func trySysctl(value string, name ...string) { _ = ensureSysctl(value, name...) }
