package transport

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/internal/mailbox"
)

const (
	// mostKept is how many bytes of reports a node keeps that have come from one child.
	mostKept = 8 << 20

	// In heartbeats:
	patience = 4  // a stream ends on which nothing has come
	writing  = 16 // a stream ends of which the peer does not read
	repeat   = 8  // a node reports again
	absence  = 24 // a node is lost that does not report
)

// Group is one that a node leads, or has joined at its leader, in one leadership (term).
type Group struct {
	node       *Node
	name, term string
	key        ed25519.PublicKey // of the leader
	life       context.Context   // of what children have with this node
	end        context.CancelFunc
	up         mailbox.Signal // there are reports to send

	leads *leadership // nil: another node leads
	// Of a node that has joined: with the last four from the last time.
	leader string
	secret []byte // that proves its reports
	parent Peer
	ticket *message
	heard  func(verdict []byte)
	avoid  string // the parent that was lost

	mu       sync.Mutex
	children map[string]*child
	newest   uint64              // number of the verdict
	verdict  []byte              // as a frame; nil: there is none
	reports  map[string]*relayed // of this node and of those below it
	unsent   map[string]*relayed // to the parent
	own      []byte              // the newest report of this node
	ownAt    time.Time           // zero: there is none
}

// relayed is the newest report of a node.
type relayed struct {
	number uint64
	frame  []byte
	by     *child // nil: it is this node's own
}

// child is a node that has this one as its parent, and its stream.
type child struct {
	*Group
	name    string
	life    context.Context // until another stream takes its place
	end     context.CancelFunc
	wake    mailbox.Signal
	sent    uint64 // number of the verdict that it has
	kept    int    // bytes of its reports
	doubted sync.Once
}

func newGroup(n *Node, name, term string, key ed25519.PublicKey) *Group {
	g := &Group{
		node: n, name: name, term: term, key: key, up: mailbox.NewSignal(), children: map[string]*child{},
		reports: map[string]*relayed{}, unsent: map[string]*relayed{},
	}
	g.life, g.end = context.WithCancel(context.Background())
	return g
}

// End ends all streams of the group, and nobody joins it here any more.
func (g *Group) End() { g.end() }

// Tell has all nodes of the group get a verdict, if the node leads it, and else the leader a report: as soon as they can take it,
// and again by the next stream when one was lost. A report is repeated, so that the leader knows that the node is there.
func (g *Group) Tell(payload []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tell(payload)
}

// tell is called with mu held.
func (g *Group) tell(payload []byte) error {
	m := &message{From: g.node.Name, Number: g.node.number(), Payload: payload}
	if g.leads != nil {
		m.Proof = ed25519.Sign(g.node.key, m.content(verdict, g.name, g.term))
	} else {
		m.Proof = mac(g.secret, m.content(report, g.name, g.term))
	}
	frame, err := m.frame()
	switch {
	case err != nil:
	case g.leads != nil:
		g.decided(m.Number, frame)
	default:
		g.own, g.ownAt = payload, time.Now()
		g.keep(m, frame, nil)
	}
	return err
}

// attempts are made to reach the parent, which may not have its answer of the leader yet: in 0.6 s.
func attempts() wait.Backoff {
	return wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 6}
}

// Run has a stream to the parent until it ends, and says why. Call it once after each Join, and then Join again, after pauses
// that grow unless the stream has lasted.
func (g *Group) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.life, cancel)()
	request, err := json.Marshal(attaching{g.name, g.ticket})
	if err != nil {
		return err
	}
	var stream Stream
	ended := wait.ExponentialBackoffWithContext(ctx, attempts(), func(ctx context.Context) (bool, error) {
		stream, err = g.node.Way.Stream(ctx, g.parent, request)
		return err == nil, nil
	})
	switch {
	case stream == nil && err == nil:
		err = ended
	case stream != nil:
		g.mu.Lock()
		g.unsent = maps.Clone(g.reports)
		g.mu.Unlock()
		err = g.node.exchange(ctx, stream, g.up, g.nextReports, g.hear)
	}
	g.avoid = g.parent.Name
	return fmt.Errorf("parent %s in group %s: %w", g.parent.Name, g.name, err)
}

// hear takes a verdict from the parent.
func (g *Group) hear(frame []byte, m *message) error {
	if !m.signed(verdict, g) {
		return fmt.Errorf("its verdict is not signed by the leader, %s", g.leader)
	}
	g.mu.Lock()
	news := g.decided(m.Number, frame)
	g.mu.Unlock()
	if news {
		g.heard(m.Payload)
	}
	return nil
}

// decided has a verdict passed on to the children; false: there is a newer one. It is called with mu held.
func (g *Group) decided(number uint64, frame []byte) bool {
	if number <= g.newest {
		return false
	}
	g.newest, g.verdict = number, frame
	for _, c := range g.children {
		c.wake.Send()
	}
	return true
}

// nextReports are those that the parent does not have, and this node's own again after a while.
func (g *Group) nextReports() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ownAt.IsZero() && time.Since(g.ownAt) >= repeat*g.node.Heartbeat {
		_ = g.tell(g.own) // it has no error the second time
	}
	var frames bytes.Buffer
	for _, w := range g.unsent {
		frames.Write(w.frame)
	}
	clear(g.unsent)
	return frames.Bytes()
}

// keep has a report passed on to the parent, unless there is a newer one. by is the child that it is from; nil: it is the node's own.
// It is called with mu held.
func (g *Group) keep(m *message, frame []byte, by *child) {
	before := g.reports[m.From]
	if before != nil && before.number > m.Number || by != nil && (m.From == g.node.Name || by.life.Err() != nil || by.kept+len(frame) > mostKept) {
		return
	}
	if before != nil && before.by != nil {
		before.by.kept -= len(before.frame)
	}
	if by != nil {
		by.kept += len(frame)
	}
	w := &relayed{m.Number, frame, by}
	g.reports[m.From], g.unsent[m.From] = w, w
	g.up.Send()
}

// add takes a child. Its stream before ends.
func (g *Group) add(name string) (*child, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before := g.children[name]; before != nil {
		g.forget(before)
	}
	if len(g.children) >= 2*g.node.children {
		return nil, refuse("%s has %d children already", g.node.Name, len(g.children))
	}
	c := &child{Group: g, name: name, wake: mailbox.NewSignal()}
	c.life, c.end = context.WithCancel(g.life)
	g.children[name] = c
	return c, nil
}

// forget forgets a child, and the reports that have come by it: they come again by the way that their nodes have then.
func (g *Group) forget(c *child) {
	c.end()
	if g.children[c.name] != c {
		return
	}
	delete(g.children, c.name)
	byIt := func(_ string, w *relayed) bool { return w.by == c }
	maps.DeleteFunc(g.reports, byIt)
	maps.DeleteFunc(g.unsent, byIt)
}

// serve has the child's stream until it ends, and says why it did.
func (c *child) serve(ctx context.Context, stream Stream) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forget(c)
	}()
	return c.node.exchange(ctx, stream, c.wake, c.nextVerdict, c.hear)
}

// nextVerdict is the one that the child does not have; nil: it has the newest.
func (c *child) nextVerdict() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == c.newest {
		return nil
	}
	c.sent = c.newest
	return c.verdict
}

// hear takes a report of the child, or of a node below it.
func (c *child) hear(frame []byte, m *message) error {
	if c.leads == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.keep(m, frame, c)
		return nil // a bad one may be that of a node below it
	}
	proven, news := c.leads.believes(m)
	if news {
		c.leads.Heard(m.From, m.Payload)
	}
	if !proven {
		c.doubted.Do(func() {
			c.node.Log.Warn("a report for a group is not proven to be that of its node", "group", c.Group.name, "node", m.From, "by", c.name)
		})
	}
	return nil
}
