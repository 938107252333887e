package bundle

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// DefaultSubnet is where the pods of the default root have their addresses.
const DefaultSubnet = "10.203.0.0/16"

// network is the pod network of a root. It is chosen once and kept in
// network.json, because pods keep their addresses.
type network struct {
	// Bridge is an interface name of at most 15 bytes.
	Bridge string       `json:"bridge"`
	Subnet netip.Prefix `json:"subnet"`
}

// chooseNetwork is the recorded network, unless the configured subnet is
// another one, or a route of the machine took the recorded one while no pod
// was there.
func chooseNetwork(p Paths, configured string) (network, error) {
	n := network{Bridge: "lifepod0"}
	if suffix := p.suffix(); suffix != "" {
		n.Bridge = "lp" + suffix
	}
	if configured != "" {
		subnet, err := netip.ParsePrefix(configured)
		if err != nil || !subnet.Addr().Is4() || subnet.Bits() > 29 {
			return n, fmt.Errorf("pod subnet %q: must be an IPv4 prefix of at most 29 bits such as %s", configured, DefaultSubnet)
		}
		n.Subnet = subnet.Masked()
		return n, n.remember(p)
	}
	recorded, err := recordedNetwork(p)
	if err != nil {
		return n, err
	}
	if recorded.Subnet.IsValid() && linkExists(n.Bridge) {
		n.Subnet = recorded.Subnet
		return n, nil
	}
	taken, err := routes(n.Bridge)
	if err != nil {
		return n, err
	}
	n.Subnet, err = freeSubnet(p, recorded.Subnet, taken)
	if err != nil {
		return n, err
	}
	return n, n.remember(p)
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
		return n, fmt.Errorf("read the pod network from %s: %w", p.networkRecord(), err)
	}
	return n, nil
}

func (n network) remember(p Paths) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return replaceFile(p.networkRecord(), append(text, '\n'))
}

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
	first := binary.BigEndian.Uint32([]byte(p.hash()))
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
	return netip.Prefix{}, errors.New("choose a pod subnet: every candidate collides with a route of this machine; name one with --pod-subnet")
}

func overlapsAny(p netip.Prefix, others []netip.Prefix) bool {
	for _, other := range others {
		if p.Overlaps(other) {
			return true
		}
	}
	return false
}

// routes are the destinations of the machine's IPv4 routes, without default
// routes and those of our own bridge.
func routes(bridge string) ([]netip.Prefix, error) {
	own := -1
	if link, err := net.InterfaceByName(bridge); err == nil {
		own = link.Index
	}
	list, err := netlink.RouteList(nil, unix.AF_INET)
	if err != nil {
		return nil, fmt.Errorf("list the machine's routes: %w", err)
	}
	var taken []netip.Prefix
	for _, r := range list {
		if r.Dst == nil || r.LinkIndex == own {
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

func linkExists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

// cniConfig is the network configuration for the CNI plugins.
func cniConfig(p Paths, n network) ([]byte, error) {
	type object = map[string]any
	text, err := json.MarshalIndent(object{
		"cniVersion": "1.0.0",
		"name":       "lifepod" + p.suffix(),
		"plugins": []object{
			{
				"type":        "bridge",
				"bridge":      n.Bridge,
				"isGateway":   true,
				"ipMasq":      true,
				"hairpinMode": true,
				"ipam": object{
					"type":    "lifepod-ipam",
					"dataDir": p.IPAM(),
					"subnet":  n.Subnet.String(),
					"routes":  []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{
				"type":         "portmap",
				"capabilities": object{"portMappings": true},
			},
		},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("generate the CNI configuration: %w", err)
	}
	return append(text, '\n'), nil
}

// cniConfigFile is the only file of the configuration folder.
func (p Paths) cniConfigFile() string { return filepath.Join(p.CNIConf(), "lifepod.conflist") }
