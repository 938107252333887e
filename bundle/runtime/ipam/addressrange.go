package ipam

import (
	"fmt"
	"math/big"
	"net/netip"
)

// Range is a run of addresses to hand out, both ends included, without the
// gateway that may lie within.
type Range struct {
	First, Last netip.Addr
	Gateway     netip.Addr
	// Subnet gives handed-out addresses their prefix length.
	Subnet netip.Prefix
}

const (
	// largestRange bounds a configured range; every address can become a link
	// in one folder.
	largestRange = 1 << 24
	// implicitIPv6Range is how much of an IPv6 subnet is used when no end is
	// configured.
	implicitIPv6Range = 1 << 16
)

// newRange completes a range: an end that is not given is the first or last
// address of the subnet that a host can have, and the gateway the subnet's
// first address.
func newRange(subnet netip.Prefix, first, last, gateway netip.Addr) (Range, error) {
	if subnet != subnet.Masked() {
		return Range{}, fmt.Errorf("subnet %s has host bits set, %s would be right", subnet, subnet.Masked())
	}
	if subnet.Addr().BitLen()-subnet.Bits() < 2 {
		return Range{}, fmt.Errorf("subnet %s is too small: at least two host bits are needed", subnet)
	}
	r := Range{First: first, Last: last, Gateway: gateway, Subnet: subnet}
	if !r.First.IsValid() {
		r.First = subnet.Addr().Next()
	}
	if !r.Last.IsValid() {
		r.Last = lastHost(subnet, r.First)
	}
	if !r.Gateway.IsValid() {
		r.Gateway = subnet.Addr().Next()
	}
	return r, r.validate()
}

func (r Range) validate() error {
	for _, end := range []struct {
		name    string
		address netip.Addr
	}{{"rangeStart", r.First}, {"rangeEnd", r.Last}, {"gateway", r.Gateway}} {
		if !r.Subnet.Contains(end.address) {
			return fmt.Errorf("%s %s is not in subnet %s", end.name, end.address, r.Subnet)
		}
	}
	if r.First.Compare(r.Last) > 0 {
		return fmt.Errorf("rangeStart %s is after rangeEnd %s", r.First, r.Last)
	}
	size := new(big.Int).Sub(number(r.Last), number(r.First))
	if size.Cmp(big.NewInt(largestRange)) >= 0 {
		return fmt.Errorf("range %s to %s has more than %d addresses", r.First, r.Last, largestRange)
	}
	if r.Size() == 0 {
		return fmt.Errorf("range %s to %s holds only the gateway", r.First, r.Last)
	}
	return nil
}

// lastHost is the last address that can be handed out by default: not the IPv4
// broadcast address, and no further than implicitIPv6Range from first.
func lastHost(subnet netip.Prefix, first netip.Addr) netip.Addr {
	hosts := new(big.Int).Lsh(big.NewInt(1), uint(subnet.Addr().BitLen()-subnet.Bits()))
	last := new(big.Int).Add(number(subnet.Addr()), hosts)
	last.Sub(last, big.NewInt(1))
	if subnet.Addr().Is4() {
		last.Sub(last, big.NewInt(1))
		return fromNumber(last, subnet.Addr())
	}
	if limit := new(big.Int).Add(number(first), big.NewInt(implicitIPv6Range-1)); last.Cmp(limit) > 0 {
		last = limit
	}
	return fromNumber(last, subnet.Addr())
}

// Contains says whether the address is one that the range hands out.
func (r Range) Contains(a netip.Addr) bool {
	return a.Is4() == r.First.Is4() && a.Compare(r.First) >= 0 && a.Compare(r.Last) <= 0 && a != r.Gateway
}

// Size is the number of addresses that the range hands out.
func (r Range) Size() int {
	size := new(big.Int).Sub(number(r.Last), number(r.First))
	n := int(size.Int64()) + 1
	if r.Gateway.Compare(r.First) >= 0 && r.Gateway.Compare(r.Last) <= 0 {
		n--
	}
	return n
}

// next is the address after a, from the start again behind the end. An address
// that isn't in the range, or none, is followed by the first.
func (r Range) next(a netip.Addr) netip.Addr {
	next := r.First
	if a.IsValid() && a.Is4() == r.First.Is4() && a.Compare(r.First) >= 0 && a.Compare(r.Last) < 0 {
		next = a.Next()
	}
	if next != r.Gateway {
		return next
	}
	if next == r.Last {
		return r.First
	}
	return next.Next()
}

// family is 4 or 6.
func (r Range) family() int {
	if r.First.Is4() {
		return 4
	}
	return 6
}

func number(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }

func fromNumber(n *big.Int, like netip.Addr) netip.Addr {
	a, _ := netip.AddrFromSlice(n.FillBytes(make([]byte, like.BitLen()/8)))
	return a
}
