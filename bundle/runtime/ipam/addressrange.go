package ipam

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Range is a run of IPv4 addresses to hand out, both ends included, without the
// gateway that may lie within.
type Range struct {
	First, Last netip.Addr
	Gateway     netip.Addr
	// Subnet gives handed-out addresses their prefix length.
	Subnet netip.Prefix
}

// largestRange bounds a configured range; every address can become a link in one folder.
const largestRange = 1 << 24

// newRange completes a range: an end that is not given is the first or last
// address of the subnet that a host can have, and the gateway the subnet's
// first address.
func newRange(subnet netip.Prefix, first, last, gateway netip.Addr) (Range, error) {
	switch {
	case !subnet.Addr().Is4():
		return Range{}, fmt.Errorf("subnet %s is not IPv4", subnet)
	case subnet != subnet.Masked():
		return Range{}, fmt.Errorf("subnet %s has host bits set, %s would be right", subnet, subnet.Masked())
	case subnet.Bits() > 30:
		return Range{}, fmt.Errorf("subnet %s is too small: at least two host bits are needed", subnet)
	}
	r := Range{First: first, Last: last, Gateway: gateway, Subnet: subnet}
	if !r.First.IsValid() {
		r.First = subnet.Addr().Next()
	}
	if !r.Last.IsValid() {
		r.Last = lastHost(subnet)
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
	if number(r.Last)-number(r.First) >= largestRange {
		return fmt.Errorf("range %s to %s has more than %d addresses", r.First, r.Last, largestRange)
	}
	if r.Size() == 0 {
		return fmt.Errorf("range %s to %s holds only the gateway", r.First, r.Last)
	}
	return nil
}

// lastHost is the last address that can be handed out by default: the one before the
// broadcast address.
func lastHost(subnet netip.Prefix) netip.Addr {
	var last [4]byte
	binary.BigEndian.PutUint32(last[:], number(subnet.Addr())+1<<(32-subnet.Bits())-2)
	return netip.AddrFrom4(last)
}

func number(a netip.Addr) uint32 { return binary.BigEndian.Uint32(a.AsSlice()) }

// Contains says whether the address is one that the range hands out.
func (r Range) Contains(a netip.Addr) bool { return r.spans(a) && a != r.Gateway }

// spans says whether the address is between the ends. No IPv6 address is.
func (r Range) spans(a netip.Addr) bool { return a.Compare(r.First) >= 0 && a.Compare(r.Last) <= 0 }

// Size is the number of addresses that the range hands out.
func (r Range) Size() int {
	n := int(number(r.Last)-number(r.First)) + 1
	if r.spans(r.Gateway) {
		n--
	}
	return n
}

// next is the address after a, from the start again behind the end. An address
// that isn't in the range, or none, is followed by the first.
func (r Range) next(a netip.Addr) netip.Addr {
	next := r.First
	if r.spans(a) && a != r.Last {
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
