package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/hostports"
)

// portmap is the CNI project's plugin, which can use iptables.
const portmap = "portmap"

// forPortmap is the configuration on standard input for that plugin: ours, with its
// type and backend, and the result if there is one.
func (c *config) forPortmap(stdin []byte, result *current.Result) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(stdin, &object); err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, err.Error(), "")
	}
	add := map[string]any{"type": portmap}
	if c.HostPorts != "" {
		add["backend"] = c.HostPorts
	}
	if result != nil {
		converted, err := result.GetAsVersion(c.CNIVersion)
		if err != nil {
			return nil, fmt.Errorf("result for %s: %w", portmap, err)
		}
		add["prevResult"] = converted
	}
	for name, value := range add {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("configuration of %s: %w", portmap, err)
		}
		object[name] = text
	}
	return json.Marshal(object)
}

// callPortmap executes the plugin in the environment of this call. The package of the
// CNI library that does so brings an HTTP client, whose start every pod would wait for.
func callPortmap(command, path string, stdin []byte) error {
	program, err := findPlugin(portmap, path)
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, os.Stderr
	if err = cmd.Run(); err == nil {
		return nil
	}
	said := &types.Error{}
	if json.Unmarshal(out.Bytes(), said) == nil && said.Msg != "" {
		return said
	}
	return fmt.Errorf("%s %s: %w %s", portmap, command, err, bytes.TrimSpace(out.Bytes()))
}

// findPlugin looks for a program in the folders of CNI_PATH.
func findPlugin(name, path string) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		program := filepath.Join(folder, name)
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
			return program, nil
		}
	}
	return "", fmt.Errorf("the plugin %s is in none of the folders %s", name, path)
}

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
