package grow

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/lifepod/lifepod/leftovers"
)

// Addresses of the other machine and of this one on the cable between them, from
// the range for tests of networks (RFC 2544).
const (
	near, far = "198.18.75.1", "198.18.75.2"
	cable     = "lpgrow0"
)

// machine is another one: a network namespace and a folder.
type machine struct {
	t     *testing.T
	space netns.NsHandle
	root  string

	node  *exec.Cmd
	ended chan struct{}
	mu    sync.Mutex // of log
	log   bytes.Buffer
}

// newMachine connects one with this by a cable.
func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir()}
	m.within(func() error { // of a new namespace: nothing is in it
		own, err := netns.New() // and this thread as well
		if err != nil {
			return err
		}
		m.space = own
		return nil
	})
	t.Cleanup(func() { _ = m.space.Close() }) // the cable goes with it
	m.must(netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: cable}, PeerName: "eth0", PeerNamespace: netlink.NsFd(m.space),
	}))
	m.must(address(cable, near))
	m.within(func() error {
		if err := netns.Set(m.space); err != nil {
			return err
		}
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		if err := errors.Join(netlink.LinkSetUp(lo), address("eth0", far)); err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(near)})
	})
	t.Cleanup(func() {
		if link, err := netlink.LinkByName(cable); err == nil {
			m.must(netlink.LinkDel(link))
		}
	})
	return m
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

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// within does something on a thread that ends with it, in whatever namespace it
// has gone.
func (m *machine) within(do func() error) {
	m.t.Helper()
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		result <- do()
	}()
	m.must(<-result)
}

// plug connects the machine, or cuts it off.
func (m *machine) plug(in bool) {
	m.t.Helper()
	link, err := netlink.LinkByName(cable)
	m.must(err)
	if in {
		m.must(netlink.LinkSetUp(link))
	} else {
		m.must(netlink.LinkSetDown(link))
	}
}

// join starts lifepod join there.
func (m *machine) join(program, token string, args ...string) {
	m.t.Helper()
	args = append([]string{"join", "--root", m.root, "--hostname-override", "n2", "--node-ip", far}, args...)
	m.node, m.ended = exec.Command(program, args...), make(chan struct{})
	m.node.Stdin, m.node.Stdout, m.node.Stderr = strings.NewReader(token), m, m
	m.within(func() error {
		if err := netns.Set(m.space); err != nil {
			return err
		}
		return m.node.Start()
	})
	go func() {
		defer close(m.ended)
		_ = m.node.Wait() // how it ended is in its log
	}()
}

// leave ends lifepod join; pods run on.
func (m *machine) leave() {
	_ = m.node.Process.Signal(syscall.SIGTERM) // it may have ended
	<-m.ended
}

// clean ends what is left of pods there.
func (m *machine) clean(ctx context.Context) {
	m.leave()
	m.within(func() error {
		if err := netns.Set(m.space); err != nil {
			return err
		}
		found, err := leftovers.Find(ctx, leftovers.Place{Root: m.root})
		if err != nil {
			return err
		}
		return leftovers.Sweep(ctx, found)
	})
}

// Write is for what lifepod join logs.
func (m *machine) Write(text []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.Write(text)
}

func (m *machine) story() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}
