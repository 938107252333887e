package transport

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Peer is another node, and where its API is.
type Peer struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port
}

// Way is how requests reach other nodes, which know whose they are ([HTTPS], [Process]).
type Way interface {
	// Join sends a request, and returns its answer.
	Join(ctx context.Context, to Peer, request []byte) ([]byte, error)
	// Stream begins a stream, which ends with ctx, or when it is closed.
	Stream(ctx context.Context, to Peer, request []byte) (Stream, error)
}

type Stream interface {
	io.ReadWriteCloser
	SetWriteDeadline(at time.Time) error
}

// ErrRefused is the error of a node that answers, and does not do what it was asked for.
var ErrRefused = errors.New("refused")

func refuse(format string, words ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, words...)...)
}

// Leader decides for a group. Many goroutines may call it at the same time.
type Leader interface {
	// Joined takes a node's request to join, which has come from an IP. It returns what the node gets as an answer, and the
	// address at which others reach it. An error refuses it.
	Joined(node, ip string, request []byte) (answer []byte, address string, err error)
	// Heard takes a report of a node that has joined; it is repeated every two seconds.
	Heard(node string, report []byte)
	// Lost takes that a node has not reported for six seconds. It may report, or join, again.
	Lost(node string)
}

type Options struct {
	Name string // of the node
	Way  Way
	// Heartbeat is after which time without anything else a stream has a heartbeat; 0: 250 ms. All other times follow from it.
	Heartbeat time.Duration
	Log       *slog.Logger
}

// Node leads groups, has joined others, and relays what their members say.
type Node struct {
	Options
	key      ed25519.PrivateKey // of this process
	children int                // at most, of a group
	readWait time.Duration

	mu     sync.Mutex
	last   uint64            // number of a message
	groups map[string]*Group // at most one of each name
	read   map[string]int    // how many requests of a peer are being read
}

func New(o Options) *Node {
	_, key, _ := ed25519.GenerateKey(nil) // it never fails
	if o.Heartbeat == 0 {
		o.Heartbeat = 250 * time.Millisecond
	}
	return &Node{Options: o, key: key, children: 32, readWait: readWait, groups: map[string]*Group{}, read: map[string]int{}}
}

// joining is a request to join.
type joining struct {
	Group   string `json:"group"`
	Secret  []byte `json:"secret"` // of the MACs of the node's reports
	Avoid   string `json:"avoid"`  // the parent that was lost
	Request []byte `json:"request"`
}

// joined is its answer.
type joined struct {
	Term   string   `json:"term"`
	Key    []byte   `json:"key"` // of the leader's signatures
	Answer []byte   `json:"answer"`
	Parent Peer     `json:"parent"` // without an address: the leader
	Ticket *message `json:"ticket"`
}

// attaching is a request to become a child.
type attaching struct {
	Group  string   `json:"group"`
	Ticket *message `json:"ticket"`
}

const secretSize = 32 // bytes

// Lead has the node lead a group, until End, or until it joins another leader.
func (n *Node) Lead(group string, leader Leader) *Group {
	g := newGroup(n, group, rand.Text(), n.key.Public().(ed25519.PublicKey))
	g.leader, g.leads = n.Name, &leadership{g, leader, map[string]*speaker{}, []*speaker{{Peer: Peer{Name: n.Name}}}}
	n.enter(g)
	return g
}

// Join joins a group at the node that leads it, with a request, and returns the leader's answer; Tell and Run follow. heard
// takes the leader's verdicts, one after the other. Who joins the leadership again that it is in gets the same Group, and
// keeps its children. When the leader can't be joined, their streams end, so that they look for another one, too; a node that
// leads the group itself goes on with that.
func (n *Node) Join(ctx context.Context, leader Peer, group string, request []byte, heard func(verdict []byte)) (*Group, []byte, error) {
	before, secret, avoid := n.group(group), make([]byte, secretSize), ""
	if _, _ = rand.Read(secret); before != nil && before.leader == leader.Name {
		secret, avoid = before.secret, before.avoid // the former proves what is under way
	}
	a, err := n.ask(ctx, leader, joining{group, secret, avoid, request})
	if err != nil {
		if before != nil && before.leads == nil {
			before.End()
		}
		return nil, nil, fmt.Errorf("join group %s at node %s: %w", group, leader.Name, err)
	}
	g := before
	if g == nil || g.term != a.Term {
		g = newGroup(n, group, a.Term, a.Key)
		g.leader, g.secret = leader.Name, secret
		n.enter(g)
	}
	if g.heard, g.parent, g.ticket = heard, a.Parent, a.Ticket; g.parent.Name == leader.Name {
		g.parent = leader
	}
	return g, a.Answer, nil
}

func (n *Node) ask(ctx context.Context, leader Peer, j joining) (a joined, err error) {
	text, err := json.Marshal(j)
	if err == nil {
		text, err = n.Way.Join(ctx, leader, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}

// enter has g be the group of its name. The one before ends.
func (n *Node) enter(g *Group) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before := n.groups[g.name]; before != nil {
		before.End()
	}
	n.groups[g.name] = g
	context.AfterFunc(g.life, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.groups[g.name] == g {
			delete(n.groups, g.name)
		}
	})
}

// group is the one of a name; nil: there is none.
func (n *Node) group(name string) *Group {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.groups[name]
}

// number is higher than any before, and than those of an earlier process if the clock was not set back.
func (n *Node) number() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = max(n.last+1, uint64(time.Now().UnixNano())) //nolint:gosec // never negative
	return n.last
}

// admit answers a peer's request to join a group, which has come from an IP.
func (n *Node) admit(from, ip string, request []byte) ([]byte, error) {
	var j joining
	if err := json.Unmarshal(request, &j); err != nil || len(j.Secret) != secretSize {
		return nil, refuse("the request is none to join a group")
	}
	g := n.group(j.Group)
	if g == nil || g.leads == nil {
		return nil, refuse("%s does not lead group %s", n.Name, j.Group)
	}
	answer, address, err := g.leads.Joined(from, ip, j.Request)
	if err != nil {
		return nil, refuse("%w", err)
	}
	parent, ticket := g.leads.place(Peer{from, address}, j.Secret, j.Avoid)
	return json.Marshal(joined{g.term, g.key, answer, parent, ticket})
}

// attach takes a peer as a child, if the leader has sent it.
func (n *Node) attach(from string, request []byte) (*child, error) {
	var a attaching
	if err := json.Unmarshal(request, &a); err != nil || a.Ticket == nil {
		return nil, refuse("the request is none to be a child")
	}
	g := n.group(a.Group)
	if g == nil || string(a.Ticket.Payload) != ticketOf(from, n.Name) || !a.Ticket.signed(ticket, g) {
		return nil, refuse("the leader that %s has in group %s has not sent %s", n.Name, a.Group, from)
	}
	return g.add(from)
}

func ticketOf(child, parent string) string { return child + " " + parent }
