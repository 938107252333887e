// Package gate lets pods reach an API server that listens on loopback.
package gate

import (
	"io"
	"net"
	"strings"
	"sync"
)

// Gate carries connections to the server.
type Gate struct {
	listener net.Listener
	server   string // host:port

	mu    sync.Mutex
	open  map[net.Conn]bool
	group sync.WaitGroup
}

// Open opens it, on all addresses of the machine.
func Open(server string) (*Gate, error) {
	listener, err := net.Listen("tcp4", "0.0.0.0:0") //nolint:noctx // it lives as long as the bench
	if err != nil {
		return nil, err
	}
	g := &Gate{listener: listener, server: strings.TrimPrefix(server, "https://"), open: map[net.Conn]bool{}}
	g.group.Go(g.serve)
	return g, nil
}

// Port is where it listens.
func (g *Gate) Port() int { return g.listener.Addr().(*net.TCPAddr).Port }

func (g *Gate) serve() {
	for {
		from, err := g.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", g.server) //nolint:noctx // on loopback
		if err != nil {
			_ = from.Close() // whoever asks tries again
			continue
		}
		g.keep(from, to)
		g.group.Go(func() { g.carry(from, to) })
		g.group.Go(func() { g.carry(to, from) })
	}
}

func (g *Gate) keep(connections ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range connections {
		g.open[c] = true
	}
}

// carry copies what one side says until it ends, which ends both.
func (g *Gate) carry(to, from net.Conn) {
	_, _ = io.Copy(to, from) // either side ends it
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		if g.open[c] {
			_ = c.Close()
			delete(g.open, c)
		}
	}
}

// Close ends it and all connections.
func (g *Gate) Close() error {
	err := g.listener.Close()
	g.mu.Lock()
	for c := range g.open {
		_ = c.Close()
		delete(g.open, c)
	}
	g.mu.Unlock()
	g.group.Wait()
	return err
}
