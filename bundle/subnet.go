package bundle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/localnet"
)

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
