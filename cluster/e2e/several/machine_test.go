package several

import (
	"errors"
	"net"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Addresses of this machine and of the other one on the cable between them, from
// the range for tests of networks (RFC 2544).
const (
	near, far = "198.18.76.1", "198.18.76.2"
	cable     = "lpseveral0"
)

// machine is another one: a network namespace at the end of a cable.
type machine struct{ space netns.NsHandle }

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{}
	must(t, onThread(func() (err error) {
		m.space, err = netns.New() // and this thread is in it
		return err
	}))
	t.Cleanup(func() { _ = m.space.Close() })
	must(t, netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: cable}, PeerName: "eth0", PeerNamespace: netlink.NsFd(m.space),
	}))
	t.Cleanup(func() {
		if link, err := netlink.LinkByName(cable); err == nil {
			must(t, netlink.LinkDel(link))
		}
	})
	must(t, address(cable, near))
	must(t, m.within(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		if err := errors.Join(netlink.LinkSetUp(lo), address("eth0", far)); err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(near)})
	}))
	return m
}

// within does something on a thread of that machine, which ends with it.
func (m *machine) within(do func() error) error {
	return onThread(func() error {
		if err := netns.Set(m.space); err != nil {
			return err
		}
		return do()
	})
}

func onThread(do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		result <- do()
	}()
	return <-result
}

func address(link, ip string) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	a, err := netlink.ParseAddr(ip + "/24")
	if err != nil {
		return err
	}
	return errors.Join(netlink.AddrAdd(l, a), netlink.LinkSetUp(l))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
