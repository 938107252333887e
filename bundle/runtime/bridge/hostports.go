package bridge

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/containernetworking/cni/pkg/skel"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/lifepod/lifepod/bundle/runtime/hostports"
)

// forward lets the host ports lead to the pod.
func (c *config) forward(args *skel.CmdArgs, result *current.Result) error {
	if len(c.RuntimeConfig.PortMappings) == 0 {
		return nil
	}
	if c.HostPorts != nftables {
		stdin, err := c.forPortmap(args.StdinData, result)
		if err != nil {
			return err
		}
		return callPortmap("ADD", args.Path, stdin)
	}
	for _, ip := range result.IPs {
		address, _ := netip.AddrFromSlice(ip.Address.IP)
		if err := hostports.Add(args.ContainerID, address.Unmap(), c.RuntimeConfig.PortMappings); err != nil {
			return fmt.Errorf("host ports: %w", err)
		}
		if address.Unmap().Is4() {
			// 127.0.0.1 of this machine may be the source of what goes to the pod.
			if err := ensureSysctl("1", "ipv4", "conf", c.Bridge, "route_localnet"); err != nil {
				return fmt.Errorf("host ports: %w", err)
			}
		}
	}
	return nil
}

// unforward gives the host ports free.
func (c *config) unforward(args *skel.CmdArgs) error {
	if len(c.RuntimeConfig.PortMappings) == 0 {
		return nil
	}
	if c.HostPorts == nftables {
		if err := hostports.Delete(args.ContainerID); err != nil {
			return fmt.Errorf("host ports: %w", err)
		}
		return nil
	}
	stdin, err := c.forPortmap(args.StdinData, nil)
	if err != nil {
		return err
	}
	return callPortmap("DEL", args.Path, stdin)
}

// forwards fails if a rule of the host ports is missing.
func (c *config) forwards(args *skel.CmdArgs, result *current.Result) error {
	if len(c.RuntimeConfig.PortMappings) == 0 {
		return nil
	}
	if c.HostPorts != nftables {
		stdin, err := c.forPortmap(args.StdinData, nil)
		if err != nil {
			return err
		}
		return callPortmap("CHECK", args.Path, stdin)
	}
	var errs []error
	for _, ip := range result.IPs {
		address, _ := netip.AddrFromSlice(ip.Address.IP)
		if err := hostports.Check(args.ContainerID, address.Unmap(), c.RuntimeConfig.PortMappings); err != nil {
			errs = append(errs, fmt.Errorf("host ports: %w", err))
		}
	}
	return errors.Join(errs...)
}
