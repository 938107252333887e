package bundle

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/localnet"
)

// TestGuardsLocalnet: with route_localnet, which host ports need, what a container sends to
// 127.0.0.1 of the machine reaches it (CVE-2020-8558), and ports that lead from there to pods;
// with the rules of a root, of other networks, or of an agent in the kubelet's place, none does.
func TestGuardsLocalnet(t *testing.T) {
	ctx := t.Context()
	masquerade := func(n network) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := n.masquerade(ctx, "lifepod_test")
			return err
		}
	}
	for name, guard := range map[string]func(context.Context) error{
		"a root":              masquerade(network{Subnet: netip.MustParsePrefix("10.9.0.0/24")}),
		"the network of CNI":  masquerade(network{CNI: &CNI{}}),
		"the kubelet's place": localnet.Guard,
	} {
		t.Run(name, func(t *testing.T) {
			cable := newCable(t)
			assert.Must(t, call(ctx, "table ip t {\nchain c {\ntype nat hook prerouting priority dstnat;\n"+
				"ip daddr 127.0.0.1 udp dport 8081 dnat to 10.9.0.1:9\n}\n}\n", "nft", "-f", "-"))
			toLoopback, toMapped, toMachine := [4]byte{127, 0, 0, 1}, uint16(8081), [4]byte{10, 9, 0, 1}
			cable.send(t, toLoopback, 9, "hostile")
			cable.send(t, toLoopback, toMapped, "hostile, to a host port")
			cable.want(t, "hostile")
			cable.want(t, "hostile, to a host port")
			for range 2 { // again, as at the next start
				assert.Must(t, guard(ctx))
			}
			cable.send(t, toLoopback, 9, "hostile")
			cable.send(t, toLoopback, toMapped, "hostile, to a host port")
			cable.send(t, toMachine, 9, "friendly")
			cable.want(t, "friendly")
		})
	}
}

// cable leads from a container to the machine, which are network namespaces of the test.
type cable struct {
	machine net.PacketConn // port 9 of all addresses
	pod     int            // a packet socket in the container
	to      unix.SockaddrLinklayer
}

func newCable(t *testing.T) *cable {
	t.Helper()
	runtime.LockOSThread() // for good: the thread, and its networks, end with the test
	assert.Must(t, unix.Unshare(unix.CLONE_NEWNET))
	pod := assert.Get(os.Open("/proc/thread-self/ns/net")).Must(t)
	defer pod.Close()
	protocol := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_IP))
	c := &cable{to: unix.SockaddrLinklayer{Protocol: protocol, Halen: 6}}
	c.pod = assert.Get(unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)).Must(t)
	t.Cleanup(func() { _ = unix.Close(c.pod) })
	assert.Must(t, unix.Unshare(unix.CLONE_NEWNET))
	attributes := netlink.NewLinkAttrs()
	attributes.Name = "lptest0"
	assert.Must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: "eth0", PeerNamespace: netlink.NsFd(int(pod.Fd()))}))
	end := assert.Get(netlink.LinkByName("lptest0")).Must(t)
	assert.Must(t, netlink.AddrAdd(end, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 9, 0, 1), Mask: net.CIDRMask(24, 32)}}))
	lo := assert.Get(netlink.LinkByName("lo")).Must(t)
	assert.Must(t, netlink.LinkSetUp(lo))
	assert.Must(t, netlink.LinkSetUp(end))
	assert.Must(t, os.WriteFile("/proc/sys/net/ipv4/conf/lptest0/route_localnet", []byte("1"), 0))
	c.machine = assert.Get(net.ListenPacket("udp4", ":9")).Must(t)
	t.Cleanup(func() { _ = c.machine.Close() })
	copy(c.to.Addr[:], end.Attrs().HardwareAddr)
	container := assert.Get(netlink.NewHandleAt(netns.NsHandle(pod.Fd()))).Must(t)
	defer container.Close()
	eth0 := assert.Get(container.LinkByName("eth0")).Must(t)
	assert.Must(t, container.LinkSetUp(eth0))
	c.to.Ifindex = eth0.Attrs().Index
	return c
}

// send puts a datagram of UDP on the cable.
func (c *cable) send(t *testing.T, to [4]byte, port uint16, text string) {
	t.Helper()
	packet := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0, 10, 9, 0, 2, to[0], to[1], to[2], to[3]}
	binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)+8+len(text)))
	var sum uint32
	for i := 0; i < len(packet); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(packet[i:]))
	}
	binary.BigEndian.PutUint16(packet[10:], ^uint16(sum>>16+sum&0xffff))
	for _, field := range []uint16{9, port, uint16(8 + len(text)), 0} { // without a checksum
		packet = binary.BigEndian.AppendUint16(packet, field)
	}
	assert.Must(t, unix.Sendto(c.pod, append(packet, text...), 0, &c.to))
}

// want is what the machine hears next.
func (c *cable) want(t *testing.T, text string) {
	t.Helper()
	got := make([]byte, 100)
	n, _, err := c.machine.ReadFrom(got)
	assert.Require(t, err == nil && string(got[:n]) == text, "the machine hears %q, error %v; want %q", got[:n], err, text)
}
