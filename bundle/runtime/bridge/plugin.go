package bridge

import (
	"errors"
	"fmt"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/lifepod/lifepod/bundle/runtime/hostports"
	"github.com/lifepod/lifepod/bundle/runtime/ipam"
)

// Main is the CNI plugin: environment and standard input in, result or error JSON on
// standard output. It exits with 1 after an error.
func Main() {
	skel.PluginMainFuncs(skel.CNIFuncs{
		Add: add, Del: del, Check: check, GC: collect, Status: status,
	}, version.All, "lifepod-bridge: bridge, address and host ports of a pod in one")
}

func add(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	pod, err := ns.GetNS(args.Netns)
	if err != nil {
		return types.NewError(types.ErrInvalidNetNS, fmt.Sprintf("open the network namespace: %v", err), "")
	}
	defer func() { _ = pod.Close() }() // it was only used
	result, err := reserve(args)
	if err != nil {
		return err
	}
	if err := c.connect(args, pod, result); err != nil {
		return errors.Join(err, c.unforward(args), giveBack(args))
	}
	if c.DNS.Nameservers != nil || c.DNS.Search != nil || c.DNS.Options != nil || c.DNS.Domain != "" {
		result.DNS = c.DNS
	}
	return types.PrintResult(result, c.CNIVersion)
}

// connect makes all but the address, and notes it in the result. The cable comes last:
// it is there, or has failed.
func (c *config) connect(args *skel.CmdArgs, pod ns.NetNS, result *current.Result) error {
	bridge, err := ensureBridge(c.Bridge, result.IPs)
	if err != nil {
		return err
	}
	if err := c.forward(args, result); err != nil {
		return err
	}
	return plug(bridge, pod, args.IfName, result)
}

// reserve is the address from the store, whose lock is held no longer than that.
func reserve(args *skel.CmdArgs) (*current.Result, error) {
	call, err := ipam.Begin(args, types.ErrIOFailure)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return call.Add()
}

// giveBack ends the store's record of the attachment.
func giveBack(args *skel.CmdArgs) error {
	call, err := ipam.Begin(args, types.ErrIOFailure)
	if err != nil {
		return err
	}
	defer call.Close()
	return call.Del()
}

func del(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	return c.disconnect(args)
}

// disconnect goes through all steps of DEL; the address is given back when nobody can
// reach the pod by it any more.
func (c *config) disconnect(args *skel.CmdArgs) error {
	if err := c.unforward(args); err != nil {
		return err
	}
	if err := unplug(args.Netns, args.IfName); err != nil {
		return err
	}
	return giveBack(args)
}

// collect drops what the runtime has forgotten. Cables are not looked for: those of
// lost namespaces go with them.
func collect(args *skel.CmdArgs) error {
	c, err := parseConfig(args.StdinData)
	if err != nil {
		return err
	}
	call, err := ipam.Begin(args, types.ErrIOFailure)
	if err != nil {
		return err
	}
	defer call.Close()
	dropped, err := call.GC()
	if c.HostPorts != nftables || len(dropped) == 0 {
		return err
	}
	return errors.Join(err, c.changeMappings(func() error {
		var errs []error
		for _, attachment := range dropped {
			errs = append(errs, hostports.Delete(attachment.Container))
		}
		return errors.Join(errs...)
	}))
}

func status(args *skel.CmdArgs) error {
	if _, err := parseConfig(args.StdinData); err != nil {
		return err
	}
	call, err := ipam.Begin(args, types.ErrPluginNotAvailable)
	if err != nil {
		return err
	}
	defer call.Close()
	return call.Status()
}
