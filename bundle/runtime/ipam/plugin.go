package ipam

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// Main is the CNI plugin: environment and standard input in, result or error
// JSON on standard output. It exits with 1 after an error.
func Main() { runPlugin(Open) }

func runPlugin(open func(dir string) (*Store, error)) {
	p := plugin{open: open}
	skel.PluginMainFuncs(skel.CNIFuncs{
		Add: p.add, Del: p.del, Check: p.check, GC: p.gc, Status: p.status,
	}, version.All, "lifepod-ipam: an address belongs to a pod, whatever becomes of its sandboxes")
}

type plugin struct {
	open func(dir string) (*Store, error)
}

// Call is one CNI call: its configuration, the open store, and who it is about. A
// plugin that has addresses among other things makes it with [Begin] in the place of
// an exec of this one; the errors of its methods are those that CNI wants.
type Call struct {
	*Store
	network    *network
	config     *Config
	within     Range
	attachment Attachment
}

// kubernetesArgs are the CNI_ARGS that Kubernetes runtimes pass.
type kubernetesArgs struct {
	types.CommonArgs
	K8S_POD_NAMESPACE          types.UnmarshallableString //nolint:revive // the name is the protocol
	K8S_POD_NAME               types.UnmarshallableString //nolint:revive // the name is the protocol
	K8S_POD_INFRA_CONTAINER_ID types.UnmarshallableString //nolint:revive // the name is the protocol
	K8S_POD_UID                types.UnmarshallableString //nolint:revive // the name is the protocol
}

// Begin reads the call, whose configuration has an ipam section for this plugin, and
// opens the store; unusable is the error code for one that can't be opened. The caller
// closes it.
func Begin(args *skel.CmdArgs, unusable uint) (*Call, error) {
	return plugin{open: Open}.begin(args, unusable)
}

func (p plugin) begin(args *skel.CmdArgs, unusable uint) (*Call, error) {
	n, config, within, err := parseConfig(args.StdinData)
	if err != nil {
		return nil, types.NewError(types.ErrInvalidNetworkConfig, err.Error(), "")
	}
	var k8s kubernetesArgs
	if args.Args != "" {
		if err := types.LoadArgs(args.Args, &k8s); err != nil {
			return nil, types.NewError(types.ErrInvalidEnvironmentVariables, err.Error(), "")
		}
	}
	store, err := p.open(config.DataDir)
	if err != nil {
		return nil, types.NewError(unusable, err.Error(), "")
	}
	return &Call{Store: store, network: n, config: config, within: within, attachment: Attachment{
		Network: n.Name, Container: args.ContainerID, Interface: args.IfName, Pod: string(k8s.K8S_POD_UID),
	}}, nil
}

// during begins a call, and closes its store after do.
func (p plugin) during(args *skel.CmdArgs, do func(*Call) error) error {
	c, err := p.begin(args, types.ErrIOFailure)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

func (p plugin) add(args *skel.CmdArgs) error {
	return p.during(args, func(c *Call) error {
		result, err := c.Add()
		if err != nil {
			return err
		}
		return types.PrintResult(result, c.network.CNIVersion)
	})
}

func (p plugin) del(args *skel.CmdArgs) error   { return p.during(args, (*Call).Del) }
func (p plugin) check(args *skel.CmdArgs) error { return p.during(args, (*Call).Check) }

func (p plugin) gc(args *skel.CmdArgs) error {
	return p.during(args, func(c *Call) error {
		_, err := c.GC()
		return err
	})
}

// status fails with code 50 when a new pod can't have an address. Running pods
// keep theirs, so 51 is never right.
func (p plugin) status(args *skel.CmdArgs) error {
	c, err := p.begin(args, types.ErrPluginNotAvailable)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Status()
}

// Add gives the attachment its address. The result has it, the gateway and the
// configured routes; it names no interface.
func (c *Call) Add() (*current.Result, error) {
	address, err := c.Attach(c.attachment, c.within)
	if err != nil {
		return nil, coded(err)
	}
	result := &current.Result{CNIVersion: current.ImplementedSpecVersion, Routes: c.config.Routes, IPs: []*current.IPConfig{{
		Address: net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(c.within.Subnet.Bits(), address.BitLen())},
		Gateway: c.within.Gateway.AsSlice(),
	}}}
	if c.config.DNS != nil {
		result.DNS = *c.config.DNS
	}
	return result, nil
}

// Del ends the attachment.
func (c *Call) Del() error { return coded(c.Detach(c.attachment)) }

// Check fails when the store doesn't know the attachment, or when the previous
// result has another address than the store.
func (c *Call) Check() error {
	held, err := c.Held(c.attachment, c.within)
	if err != nil {
		return coded(err)
	}
	if !held.IsValid() {
		return types.NewError(types.ErrUnknownContainer,
			fmt.Sprintf("container %s has no address on %s", c.attachment.Container, c.attachment.Interface), "")
	}
	return c.agrees(held)
}

// GC drops the attachments that the runtime does not know any more, and tells which.
func (c *Call) GC() ([]Attachment, error) {
	valid := make([]Attachment, 0, len(c.network.ValidAttachments))
	for _, a := range c.network.ValidAttachments {
		valid = append(valid, Attachment{Container: a.ContainerID, Interface: a.IfName})
	}
	dropped, err := c.Collect(c.network.Name, valid)
	return dropped, coded(err)
}

// Status fails when a new pod can't have an address.
func (c *Call) Status() error {
	if err := c.Ready(c.within); err != nil {
		return types.NewError(types.ErrPluginNotAvailable, err.Error(), "")
	}
	return nil
}

// agrees compares the address with those of the previous result.
func (c *Call) agrees(held netip.Addr) error {
	if err := version.ParsePrevResult(&c.network.PluginConf); err != nil {
		return types.NewError(types.ErrDecodingFailure, err.Error(), "")
	}
	if c.network.PrevResult == nil {
		return types.NewError(types.ErrInvalidNetworkConfig, "CHECK needs the previous result", "")
	}
	previous, err := current.NewResultFromResult(c.network.PrevResult)
	if err != nil {
		return types.NewError(types.ErrDecodingFailure, err.Error(), "")
	}
	if !slices.ContainsFunc(previous.IPs, func(ip *current.IPConfig) bool { return ip.Address.IP.Equal(held.AsSlice()) }) {
		return types.NewError(types.ErrInternal, fmt.Sprintf("address %s is not in the previous result", held), "")
	}
	return nil
}

// coded gives an error its CNI code: no address is free now, or else a failure of the store.
func coded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrExhausted):
		return types.NewError(types.ErrTryAgainLater, err.Error(), "")
	}
	return types.NewError(types.ErrIOFailure, err.Error(), "")
}
