package transport

import (
	"crypto/ed25519"
	"crypto/hmac"
	"slices"
	"time"
)

// leadership is what the leader of a group knows of its nodes.
type leadership struct {
	*Group
	Leader
	joined map[string]*speaker // the nodes by name
	order  []*speaker          // the same in the order in which they have joined first, after the leader itself
}

// speaker is a node that has joined the leader, or the leader itself.
type speaker struct {
	Peer
	secret   []byte
	number   uint64      // of its newest report
	timer    *time.Timer // of its reports; it is lost at the end
	lost     bool
	place    int // among the others
	parent   *speaker
	children int // that it was given
}

// place takes a node that has joined, and returns its parent, with what lets it be a child there. A parent has joined first
// before its children, so that nobody is below itself.
func (l *leadership) place(node Peer, secret []byte, avoid string) (Peer, *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.joined[node.Name]
	if s == nil {
		s = &speaker{place: len(l.order), timer: time.AfterFunc(absence*l.node.Heartbeat, func() { l.loses(node.Name) })}
		l.joined[node.Name], l.order = s, append(l.order, s)
	}
	if !hmac.Equal(s.secret, secret) {
		s.number = 0 // another process may count anew
	}
	s.Peer, s.secret = node, secret
	l.present(s)
	if p := s.parent; p == nil || p.lost || p.Name == avoid {
		l.adopt(s, avoid)
	}
	t := &message{From: l.node.Name, Payload: []byte(ticketOf(node.Name, s.parent.Name))}
	t.Proof = ed25519.Sign(l.node.key, t.content(ticket, l.name, l.term))
	return s.parent.Peer, t
}

// adopt gives a node a parent: the first that has room, or else the leader. There is more room for those that have lost one.
func (l *leadership) adopt(s *speaker, avoid string) {
	room := l.node.children
	if s.parent != nil {
		room *= 2
		s.parent.children--
	}
	s.parent = l.order[0]
	may := func(p *speaker) bool { return p.children < room && !p.lost && p.Name != avoid }
	if i := slices.IndexFunc(l.order[:s.place], may); i > 0 {
		s.parent = l.order[i]
	}
	s.parent.children++
}

// present takes that a node is there.
func (l *leadership) present(s *speaker) {
	s.lost = false
	s.timer.Reset(absence * l.node.Heartbeat)
}

// loses tells the leader that a node does not report.
func (l *leadership) loses(node string) {
	l.mu.Lock()
	l.joined[node].lost = true
	l.mu.Unlock()
	if l.life.Err() == nil {
		l.Lost(node)
	}
}

// believes says whether a report is that of a node that has joined, and whether it is newer than the one before.
func (l *leadership) believes(m *message) (proven, news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.joined[m.From]
	if s == nil || !hmac.Equal(m.Proof, mac(s.secret, m.content(report, l.name, l.term))) {
		return false, false
	}
	if m.Number <= s.number {
		return true, false
	}
	s.number = m.Number
	l.present(s)
	return true, true
}
