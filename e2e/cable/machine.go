// Package cable makes another machine for tests of several: a network namespace at
// the end of a cable.
package cable

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/lifepod/lifepod/internal/assert"
)

// Machine is the other one. It ends with its test.
type Machine struct {
	name  string // of the cable's end on this machine
	space netns.NsHandle
}

// New connects one with this machine by a cable of that name, at most 15 bytes, with
// the addresses near here and far there, in one /24.
func New(t *testing.T, name, near, far string) *Machine {
	t.Helper()
	m := &Machine{name: name}
	assert.Must(t, onThread(func() (err error) {
		m.space, err = netns.New() // and this thread is in it
		return err
	}))
	t.Cleanup(func() { _ = m.space.Close() }) // the cable goes with it, if nothing else is left there
	assert.Must(t, netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: "eth0", PeerNamespace: netlink.NsFd(m.space),
	}))
	t.Cleanup(func() {
		if link, err := netlink.LinkByName(name); err == nil {
			assert.Must(t, netlink.LinkDel(link))
		}
	})
	assert.Must(t, address(name, near))
	assert.Must(t, m.Within(func() error {
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

// Within does something on a thread of that machine, which ends with it; what it
// starts belongs there.
func (m *Machine) Within(do func() error) error {
	return onThread(func() error {
		if err := netns.Set(m.space); err != nil {
			return err
		}
		return do()
	})
}

// Namespace is the path of its network namespace, for processes of this machine.
func (m *Machine) Namespace() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.space) }

// Plug connects the machine, or cuts it off.
func (m *Machine) Plug(in bool) error {
	link, err := netlink.LinkByName(m.name)
	switch {
	case err != nil:
		return err
	case in:
		return netlink.LinkSetUp(link)
	default:
		return netlink.LinkSetDown(link)
	}
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

// FreePort is an address of this machine's with a port that nobody has.
func FreePort(t *testing.T, address string) string {
	t.Helper()
	listener := assert.Get(net.Listen("tcp", net.JoinHostPort(address, "0"))).Must(t)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
