package transport

import (
	"context"
	"net"
	"sync"
)

// Process has nodes of one process reach each other in memory, such as simulated ones.
type Process struct{ nodes sync.Map } // by name

// Add lets a node be reached.
func (p *Process) Add(n *Node) { p.nodes.Store(n.Name, n) }

// Way is that of a node to the others.
func (p *Process) Way(from string) Way { return processWay{p, from} }

type processWay struct {
	process *Process
	from    string
}

func (w processWay) node(p Peer) (*Node, error) {
	n, is := w.process.nodes.Load(p.Name)
	if !is {
		return nil, refuse("node %s is not in this process", p.Name)
	}
	return n.(*Node), nil
}

func (w processWay) Join(_ context.Context, to Peer, request []byte) ([]byte, error) {
	n, err := w.node(to)
	if err != nil {
		return nil, err
	}
	return n.admit(w.from, request)
}

func (w processWay) Stream(ctx context.Context, to Peer, request []byte) (Stream, error) {
	n, err := w.node(to)
	if err != nil {
		return nil, err
	}
	c, err := n.attach(w.from, request)
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	go func() { _ = c.serve(ctx, there) }() // it ends with the stream
	return here, nil
}
