package main

import (
	"io"
	"net"
	"strings"
	"sync"
)

// gate lets pods reach the API server, which listens on loopback.
type gate struct {
	listener net.Listener
	server   string // host:port

	mu    sync.Mutex
	open  map[net.Conn]bool
	group sync.WaitGroup
}

func openGate(server string) (*gate, error) {
	listener, err := net.Listen("tcp4", "0.0.0.0:0") //nolint:noctx // it lives as long as the bench
	if err != nil {
		return nil, err
	}
	g := &gate{listener: listener, server: strings.TrimPrefix(server, "https://"), open: map[net.Conn]bool{}}
	g.group.Go(g.serve)
	return g, nil
}

func (g *gate) port() int { return g.listener.Addr().(*net.TCPAddr).Port }

func (g *gate) serve() {
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

func (g *gate) keep(connections ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range connections {
		g.open[c] = true
	}
}

// carry copies what one side says until it ends, which ends both.
func (g *gate) carry(to, from net.Conn) {
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

// close ends it and all connections.
func (g *gate) close() error {
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
