package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

var errDropped = errors.New("no answer, and one from what may be reached")

// localnet asks for a connection to 127.0.0.1 of the machine and then, on the same way, for one that the machine answers:
// once that answer is there, so would be the other.
func localnet() error {
	target, err := netip.ParseAddrPort(*gateway)
	if err != nil {
		return err
	}
	connection, err := net.Dial("tcp", *gateway) // the kernel asks for the hardware's address
	if err != nil {
		return err
	}
	own, err := netip.ParseAddrPort(connection.LocalAddr().String())
	if err != nil {
		return errors.Join(err, connection.Close())
	}
	_ = connection.Close()
	to, err := link(target.Addr().String())
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, int(to.Protocol))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	const from = 31999
	for _, dst := range []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(*local)), target} {
		if err := unix.Sendto(fd, syn(netip.AddrPortFrom(own.Addr(), from), dst), 0, to); err != nil {
			return err
		}
	}
	for packet := make([]byte, 1<<16); ; {
		n, _, err := unix.Recvfrom(fd, packet, 0)
		if err != nil {
			return err
		}
		header := int(packet[0]&15) * 4
		if n < header+20 || packet[9] != unix.IPPROTO_TCP || binary.BigEndian.Uint16(packet[header+2:]) != from {
			continue
		}
		switch int(binary.BigEndian.Uint16(packet[header:])) {
		case *local:
			return fmt.Errorf("answered by %v with flags %#x", net.IP(packet[12:16]), packet[header+13])
		case int(target.Port()):
			return errDropped
		}
	}
}

// link is where packets for an address of the machine go.
func link(address string) (*unix.SockaddrLinklayer, error) {
	device, err := net.InterfaceByName("eth0")
	if err != nil {
		return nil, err
	}
	table, err := os.ReadFile("/proc/net/arp")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		if words := strings.Fields(line); len(words) > 3 && words[0] == address {
			hardware, err := net.ParseMAC(words[3])
			if err != nil {
				return nil, err
			}
			to := &unix.SockaddrLinklayer{Protocol: 0x0008 /* ETH_P_IP in the network's order */, Ifindex: device.Index, Halen: 6}
			copy(to.Addr[:], hardware)
			return to, nil
		}
	}
	return nil, fmt.Errorf("no hardware address of %s:\n%s", address, table)
}

// syn is a packet that asks for a connection.
func syn(from, to netip.AddrPort) []byte {
	ip, tcp := make([]byte, 20), make([]byte, 20)
	ip[0], ip[8], ip[9] = 0x45, 64, unix.IPPROTO_TCP
	binary.BigEndian.PutUint16(ip[2:], 40)
	copy(ip[12:], from.Addr().AsSlice())
	copy(ip[16:], to.Addr().AsSlice())
	binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	binary.BigEndian.PutUint16(tcp, from.Port())
	binary.BigEndian.PutUint16(tcp[2:], to.Port())
	tcp[12], tcp[13] = 5<<4, 2
	binary.BigEndian.PutUint16(tcp[14:], 1<<15)
	binary.BigEndian.PutUint16(tcp[16:], checksum(slices.Concat(ip[12:], []byte{0, unix.IPPROTO_TCP, 0, 20}, tcp)))
	return slices.Concat(ip, tcp)
}

func checksum(data []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
