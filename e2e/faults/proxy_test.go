package faults

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// network stands between an agent and the API server: it can be cut without a
// word, refuse, reset what is open, and be slow.
type network struct {
	listener net.Listener
	to       string

	mu      sync.Mutex
	whole   chan struct{} // closed while nothing is held up
	refuses bool
	delay   time.Duration
	open    map[net.Conn]bool
}

// newNetwork listens before the API server, until the end of the test.
func newNetwork(t *testing.T) *network {
	t.Helper()
	server := assert.Get(url.Parse(plane.URL())).Must(t)
	listener := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	n := &network{listener: listener, to: server.Host, whole: make(chan struct{}), open: map[net.Conn]bool{}}
	close(n.whole)
	var serving sync.WaitGroup
	serving.Go(func() { n.serve(&serving) })
	t.Cleanup(func() {
		_ = listener.Close()
		n.mend()
		n.reset()
		serving.Wait()
	})
	return n
}

// kubeconfig is the node's, through the network.
func (n *network) kubeconfig(t *testing.T, node string) string {
	t.Helper()
	file := assert.Get(plane.NodeKubeconfig(node)).Must(t)
	text := assert.Get(os.ReadFile(file)).Must(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	through := strings.ReplaceAll(string(text), plane.URL(), "https://"+n.listener.Addr().String())
	assert.Must(t, os.WriteFile(path, []byte(through), 0o600))
	return path
}

func (n *network) serve(serving *sync.WaitGroup) {
	for {
		from, err := n.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", n.to)
		if err != nil || !n.admit(from, to) {
			_ = from.Close()
			if err == nil {
				_ = to.Close()
			}
			continue
		}
		serving.Go(func() { n.carry(from, to) })
		serving.Go(func() { n.carry(to, from) })
	}
}

// admit files a connection, unless there are none.
func (n *network) admit(both ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range both {
		n.open[c] = !n.refuses
	}
	return !n.refuses
}

// carry brings all that one end sends to the other, late if it is to be.
func (n *network) carry(from, to net.Conn) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.open, from)
	}()
	buffer := make([]byte, 64<<10)
	for {
		size, err := from.Read(buffer)
		n.mu.Lock()
		whole, delay := n.whole, n.delay
		n.mu.Unlock()
		<-whole
		time.Sleep(delay) // this is the fault, not a wait
		if size > 0 {
			if _, err := to.Write(buffer[:size]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut holds all back that is sent, and tells nobody.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.whole = make(chan struct{})
}

// mend ends cut, refuse and slow.
func (n *network) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuses, n.delay = false, 0
	select {
	case <-n.whole:
	default:
		close(n.whole)
	}
}

// refuse lets no new connection come about.
func (n *network) refuse() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuses = true
}

// slow makes everything late.
func (n *network) slow(delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = delay
}

// reset ends all connections at once, as a machine that was started anew does.
func (n *network) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // RST instead of FIN
		}
		_ = c.Close()
	}
}
