package ipam

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"

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
	ranges     []Range
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
	n, config, ranges, err := parseConfig(args.StdinData)
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
	return &Call{Store: store, network: n, config: config, ranges: ranges, attachment: Attachment{
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

// Add gives the attachment its addresses. The result has them, the gateways and the
// configured routes; it names no interface.
func (c *Call) Add() (*current.Result, error) {
	addresses, err := c.Attach(c.attachment, c.ranges)
	if err != nil {
		return nil, coded(err)
	}
	return c.result(addresses), nil
}

// Del ends the attachment.
func (c *Call) Del() error { return coded(c.Detach(c.attachment)) }

// Check fails when the store doesn't know the attachment, or when the previous
// result has other addresses in these ranges than the store.
func (c *Call) Check() error {
	held, err := c.Held(c.attachment, c.ranges)
	if err != nil {
		return coded(err)
	}
	if len(held) != len(c.ranges) {
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
	if err := c.Ready(c.ranges); err != nil {
		return types.NewError(types.ErrPluginNotAvailable, err.Error(), "")
	}
	return nil
}

// agrees compares the addresses with those of the previous result.
func (c *Call) agrees(held []netip.Addr) error {
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
	given := map[string]bool{}
	for _, ip := range previous.IPs {
		given[ip.Address.IP.String()] = true
	}
	for _, address := range held {
		if !given[address.String()] {
			return types.NewError(types.ErrInternal,
				fmt.Sprintf("address %s is not in the previous result", address), "")
		}
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

func (c *Call) result(addresses []netip.Addr) *current.Result {
	result := &current.Result{CNIVersion: current.ImplementedSpecVersion, Routes: c.config.Routes}
	if c.config.DNS != nil {
		result.DNS = *c.config.DNS
	}
	for i, address := range addresses {
		within := c.ranges[i]
		result.IPs = append(result.IPs, &current.IPConfig{
			Address: net.IPNet{
				IP:   address.AsSlice(),
				Mask: net.CIDRMask(within.Subnet.Bits(), address.BitLen()),
			},
			Gateway: within.Gateway.AsSlice(),
		})
	}
	return result
}

const usage = `usage: lifepod-ipam release --data-dir DIR UID…

Without arguments lifepod-ipam is a CNI plugin (CNI_COMMAND, configuration on
standard input).
`

// Command runs what is asked for on the command line, beside CNI: release. It
// gives the exit code: 0 done, 1 not done, 2 not understood.
func Command(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("lifepod-ipam release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	dir := flags.String("data-dir", "", "folder of the address store")
	if len(args) == 0 || args[0] != "release" {
		flags.Usage()
		return 2
	}
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if *dir == "" || flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	if err := release(*dir, flags.Args()); err != nil {
		fmt.Fprintln(stderr, "lifepod-ipam:", err)
		return 1
	}
	return 0
}

func release(dir string, pods []string) (err error) {
	store, err := Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, pod := range pods {
		if err := store.Release(pod); err != nil {
			return err
		}
	}
	return nil
}
