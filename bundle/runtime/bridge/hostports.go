package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"

	"github.com/containernetworking/cni/pkg/skel"
	current "github.com/containernetworking/cni/pkg/types/100"
	"golang.org/x/sys/unix"

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
	return c.changeMappings(func() error {
		for _, ip := range result.IPs {
			address, _ := netip.AddrFromSlice(ip.Address.IP)
			if err := hostports.Add(args.ContainerID, address.Unmap(), c.RuntimeConfig.PortMappings); err != nil {
				return err
			}
		}
		return nil
	})
}

// changeMappings makes a change of host ports while nobody else does on this bridge, which
// has route_localnet for as long as one is left: 127.0.0.1 of this machine may be the source
// of what goes to a pod. The root's packet filter drops what else would come in by it.
func (c *config) changeMappings(change func() error) error {
	name := []string{"ipv4", "conf", c.Bridge, "route_localnet"}
	lock, err := os.Open(sysctlPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return change() // the bridge has gone, and its switch with it
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // it was only locked
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the host ports of %s: %w", c.Bridge, err)
	}
	err = change()
	left, listErr := hostports.LeadTo(c.IPAM.Subnet)
	if err = errors.Join(err, listErr); err != nil {
		return fmt.Errorf("host ports: %w", err)
	}
	value := "0"
	if left {
		value = "1"
	}
	return ensureSysctl(value, name...)
}

// unforward gives the host ports free.
func (c *config) unforward(args *skel.CmdArgs) error {
	if len(c.RuntimeConfig.PortMappings) == 0 {
		return nil
	}
	if c.HostPorts == nftables {
		return c.changeMappings(func() error { return hostports.Delete(args.ContainerID) })
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
