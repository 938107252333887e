package bundle

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/localnet"
)

// network is the pod network of a root. It is chosen once and kept in
// network.json, because pods keep their addresses.
type network struct {
	Subnet netip.Prefix `json:"subnet"`
	// Cluster is the range of the pods of all nodes of the cluster that has given
	// this root its subnet; invalid without one.
	Cluster netip.Prefix `json:"cluster,omitzero"`
	// Filter is the packet filter that has the rules of the root: nftables,
	// iptables, or empty for none.
	Filter string `json:"filter,omitempty"`
	// CNI is the network instead of this one, which has then nothing but its
	// subnet, for when it is wanted again.
	CNI *CNI `json:"cni,omitempty"`
}

// Bridge is the interface that the pods of this root are connected to; 15
// bytes are the most that the kernel takes.
func (p Paths) Bridge() string {
	if p.suffix() == "" {
		return "lifepod0"
	}
	return "lp" + p.suffix()
}

// settle records the network and generates the CNI configuration.
func (n network) settle(p Paths) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := replaceFile(p.networkRecord(), append(text, '\n')); err != nil {
		return err
	}
	if n.CNI != nil {
		return nil // others write its configuration
	}
	config, err := cniConfig(p, n)
	if err != nil {
		return err
	}
	return replaceFile(p.cniConfigFile(), config)
}

// chooseNetwork is the recorded network, unless the configured subnet is
// another one, or a route of the machine took the recorded one while no pod
// was there. Its filter is the one to try first.
func chooseNetwork(p Paths, configured string) (network, error) {
	if configured != "" {
		subnet, err := netip.ParsePrefix(configured)
		if err != nil || !subnet.Addr().Is4() || subnet.Bits() > 29 {
			return network{}, fmt.Errorf("pod subnet %q: must be an IPv4 prefix of at most 29 bits such as %s", configured, DefaultSubnet)
		}
		return network{Subnet: subnet.Masked(), Filter: nftables}, nil
	}
	recorded, err := recordedNetwork(p)
	if err != nil {
		return network{}, err
	}
	if _, err := netlink.LinkByName(p.Bridge()); err == nil && recorded.Subnet.IsValid() {
		return recorded, nil
	}
	if recorded.Cluster.IsValid() { // other nodes have routes to it
		recorded.Filter = nftables
		return recorded, nil
	}
	taken, err := Routed(p.Bridge())
	if err != nil {
		return network{}, err
	}
	subnet, err := freeSubnet(p, recorded.Subnet, taken)
	return network{Subnet: subnet, Filter: nftables}, err
}

func recordedNetwork(p Paths) (network, error) {
	var n network
	text, err := os.ReadFile(p.networkRecord())
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("read the pod network: %w", err)
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return n, fmt.Errorf("read the pod network from %s: %w; remove the file to have a new one chosen", p.networkRecord(), err)
	}
	return n, nil
}

// cniConfig is the network configuration: one plugin, and so one program to execute for
// a sandbox. Its masquerading is in masquerade.
func cniConfig(p Paths, n network) ([]byte, error) {
	type object = map[string]any
	plugin := object{
		"type":         "lifepod-bridge",
		"bridge":       p.Bridge(),
		"capabilities": object{"portMappings": true},
		"ipam": object{
			"type":    "lifepod-ipam",
			"dataDir": p.IPAM(),
			"subnet":  n.Subnet.String(),
			"routes":  []object{{"dst": "0.0.0.0/0"}},
		},
	}
	if n.Filter != "" {
		plugin["hostPorts"] = n.Filter
	}
	text, err := json.MarshalIndent(object{
		"cniVersion": "1.0.0",
		"name":       "lifepod" + p.suffix(), // as in earlier versions: results of their pods are kept by it
		"plugins":    []object{plugin},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("generate the CNI configuration: %w", err)
	}
	return append(text, '\n'), nil
}

// cniConfigFile is the only file of the configuration folder.
func (p Paths) cniConfigFile() string { return filepath.Join(p.CNIConf(), "lifepod.conflist") }

// removeNetwork removes the bridge and the packet filter rules.
func (p Paths) removeNetwork(ctx context.Context) error {
	n, err := recordedNetwork(p)
	if err != nil {
		return err
	}
	var unfiltered, unplugged error
	var group sync.WaitGroup
	group.Go(func() { unfiltered = n.unmasquerade(ctx, p.FilterTable()) })
	group.Go(func() { unplugged = removeLink(p.Bridge()) })
	group.Wait()
	return errors.Join(unfiltered, unplugged)
}

func removeLink(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	var gone netlink.LinkNotFoundError
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("remove the bridge %s: %w", name, err)
	}
	return nil
}

// DefaultSubnet is where the pods of the default root have their addresses.
const DefaultSubnet = "10.203.0.0/16"

// freeSubnet is the first candidate that no route overlaps: the subnet of
// before, the default's, then /22 blocks of 10.128.0.0/9, beginning at one
// that is derived from the root.
func freeSubnet(p Paths, before netip.Prefix, taken []netip.Prefix) (netip.Prefix, error) {
	const blocks = 1 << (22 - 9)
	candidates := make([]netip.Prefix, 0, blocks+2)
	if before.IsValid() {
		candidates = append(candidates, before)
	}
	if p.Root == DefaultRoot {
		candidates = append(candidates, netip.MustParsePrefix(DefaultSubnet))
	}
	hash, err := strconv.ParseUint(p.hash(), 16, 32)
	if err != nil {
		panic(err) // it is eight hexadecimal digits
	}
	first := uint32(hash)
	for i := range uint32(blocks) {
		block := (first + i) % blocks
		var address [4]byte
		binary.BigEndian.PutUint32(address[:], 10<<24|1<<23|block<<10)
		candidates = append(candidates, netip.PrefixFrom(netip.AddrFrom4(address), 22))
	}
	for _, candidate := range candidates {
		if !overlapsAny(candidate, taken) {
			return candidate, nil
		}
	}
	return netip.Prefix{}, errors.New("choose a pod subnet: every candidate collides with a route of this machine; configure one that does not")
}

func overlapsAny(p netip.Prefix, others []netip.Prefix) bool {
	return slices.ContainsFunc(others, p.Overlaps)
}

// Routed are the destinations of the machine's IPv4 routes, without default routes and
// those by the interface own, which need not exist.
func Routed(own string) ([]netip.Prefix, error) {
	except := -1
	if link, err := netlink.LinkByName(own); err == nil {
		except = link.Attrs().Index
	}
	list, err := localnet.WholeDump(func() ([]netlink.Route, error) {
		return netlink.RouteList(nil, unix.AF_INET)
	})
	if err != nil {
		return nil, fmt.Errorf("list the machine's routes: %w", err)
	}
	var taken []netip.Prefix
	for _, r := range list {
		if r.Dst == nil || r.LinkIndex == except {
			continue
		}
		address, ok := netip.AddrFromSlice(r.Dst.IP.To4())
		bits, _ := r.Dst.Mask.Size()
		if ok && bits > 0 {
			taken = append(taken, netip.PrefixFrom(address, bits))
		}
	}
	return taken, nil
}
