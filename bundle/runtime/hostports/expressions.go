// Package hostports lets IPv4 ports of this machine lead to pods, by rules of nftables, over
// netlink. They are in the table, the chains and the form of the CNI project's plugin
// portmap, which other runtimes of the machine use as well, and carry the container ID as
// their comment.
package hostports

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// podRules are the rules of a pod's address, by chain. They are those of the plugin
// portmap, as nft would compile them.
func podRules(pod netip.Addr, mappings []Mapping) map[string][][]expr.Any {
	localhost := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	rules := map[string][][]expr.Any{masqChain: {
		// The pod's own ports, used by itself.
		join(is(source(), pod), is(destination(), pod), []expr.Any{&expr.Masq{}}),
		join(is(source(), localhost), is(destination(), pod), []expr.Any{&expr.Masq{}}),
	}}
	for _, m := range mappings {
		host, err := netip.ParseAddr(m.HostIP)
		if err == nil && !host.Unmap().Is4() {
			continue
		}
		rule := join(port(m), destinationNAT(pod, m.ContainerPort))
		if host = host.Unmap(); err == nil && !host.IsUnspecified() {
			rule = join(is(destination(), host), rule)
		}
		rules[portChain] = append(rules[portChain], rule)
	}
	return rules
}

func join(parts ...[]expr.Any) (all []expr.Any) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// source and destination load that address of a packet.
func source() *expr.Payload {
	return &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}
}

func destination() *expr.Payload {
	return &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: 4}
}

func is(loaded *expr.Payload, address netip.Addr) []expr.Any {
	return []expr.Any{loaded, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: address.AsSlice()}}
}

// port matches the host port of a mapping, at the same place in all protocols.
func port(m Mapping) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{protocols[m.Protocol]}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: portNumber(m.HostPort)},
	}
}

func destinationNAT(pod netip.Addr, port int) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: pod.AsSlice()},
		&expr.Immediate{Register: 2, Data: portNumber(port)},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1, RegProtoMin: 2, Specified: true},
	}
}

func portNumber(port int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(port)) }

// toThisMachine matches what comes for an address of this machine.
func toThisMachine() []expr.Any {
	return []expr.Any{
		&expr.Fib{Register: 1, FlagDADDR: true, ResultADDRTYPE: true},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.NativeEndian.AppendUint32(nil, unix.RTN_LOCAL)},
	}
}

func jump(chain string) []expr.Any {
	return []expr.Any{&expr.Verdict{Kind: expr.VerdictJump, Chain: chain}}
}

// Mapping is a host port, as the CNI capability portMappings has it.
type Mapping struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"` // tcp, udp or sctp
	HostIP        string `json:"hostIP"`   // empty for every address of this machine
}

// protocols are those that have ports to lead to a pod.
var protocols = map[string]byte{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "sctp": unix.IPPROTO_SCTP}

// Validate says what is wrong with a mapping.
func (m Mapping) Validate() error {
	for _, port := range []int{m.HostPort, m.ContainerPort} {
		if port < 1 || port > 65535 {
			return fmt.Errorf("port mapping %d to %d: want ports from 1 to 65535", m.HostPort, m.ContainerPort)
		}
	}
	if _, known := protocols[m.Protocol]; !known {
		return fmt.Errorf("port mapping %d: unknown protocol %q", m.HostPort, m.Protocol)
	}
	if m.HostIP == "" {
		return nil
	}
	if _, err := netip.ParseAddr(m.HostIP); err != nil {
		return fmt.Errorf("port mapping %d: host IP: %w", m.HostPort, err)
	}
	return nil
}
