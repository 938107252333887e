package transport

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
)

// Process has nodes of one process reach each other in memory, such as simulated ones.
type Process struct {
	mu      sync.Mutex
	nodes   map[string]*Node
	cut     map[string]bool
	streams map[net.Conn][]string // and the nodes at their ends
}

var errCut = &net.OpError{Op: "dial", Net: "process", Err: syscall.ENETUNREACH}

// Add lets a node be reached, in the place of an earlier one of the same name.
func (p *Process) Add(n *Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes == nil {
		p.nodes, p.cut, p.streams = map[string]*Node{}, map[string]bool{}, map[net.Conn][]string{}
	}
	p.nodes[n.Name] = n
}

// Cut cuts the node of that name off from all others.
func (p *Process) Cut(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut[name] = true
	for stream, ends := range p.streams {
		if slices.Contains(ends, name) {
			_ = stream.Close()
		}
	}
}

// Mend undoes that.
func (p *Process) Mend(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cut, name)
}

// Way is that of a node to the others.
func (p *Process) Way(from string) Way { return processWay{p, from} }

type processWay struct {
	*Process
	from string
}

// node is called with mu held.
func (w processWay) node(to Peer) (*Node, error) {
	n := w.nodes[to.Name]
	switch {
	case n == nil:
		return nil, refuse("node %s is not in this process", to.Name)
	case w.cut[to.Name] || w.cut[w.from]:
		return nil, errCut
	}
	return n, nil
}

func (w processWay) Join(_ context.Context, to Peer, request []byte) ([]byte, error) {
	w.mu.Lock()
	n, err := w.node(to)
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return n.admit(w.from, "", request)
}

func (w processWay) Stream(ctx context.Context, to Peer, request []byte) (Stream, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.node(to)
	if err != nil {
		return nil, err
	}
	c, err := n.attach(w.from, request)
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	w.streams[here] = []string{w.from, to.Name}
	go func() {
		_ = c.serve(ctx, there) // it ends with the stream
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.streams, here)
	}()
	return here, nil
}
