package groups

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/node/groups/transport"
)

// session is with the node that leads the group.
type session struct {
	leader transport.Peer
	group  *transport.Group
	joined group.Joined
}

// ask joins the group at a node, if that leads it.
func (g *memberGroup) ask(ctx context.Context, leader transport.Peer) (*session, error) {
	_, report, err := g.report()
	if err != nil {
		return nil, err
	}
	joined, answer, err := g.Node.Join(ctx, leader, g.name.String(), report, g.hears)
	if err != nil {
		return nil, err
	}
	s := &session{leader: leader, group: joined}
	if err := json.Unmarshal(answer, &s.joined); err != nil {
		return nil, fmt.Errorf("answer of node %s in group %s: %w", leader.Name, g.name, err)
	}
	return s, nil
}

// hears takes a verdict of the leader.
func (g *memberGroup) hears(payload []byte) {
	var v group.Verdict
	if err := json.Unmarshal(payload, &v); err != nil {
		g.Log.Warn("the verdict for a group can't be read", "group", g.name, "err", err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.follower.Hear(v)
	g.tell()
	g.changed.Send()
}

// follow reports to the leader until it, or the way to it, is lost, or until it has to be joined again. It returns the leader.
func (g *memberGroup) follow(ctx context.Context, s *session) transport.Peer {
	g.mu.Lock()
	g.way = group.Way{Leader: s.leader.Name}
	g.follower.Join(s.joined)
	g.mu.Unlock()
	g.joined = s.group
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := s.group.Run(ctx)
		g.Log.Debug("the stream to the leader of a group has ended", "group", g.name, "leader", s.leader.Name, "err", err)
	}()
	defer func() { cancel(); <-ended }()
	for sent := []byte(nil); ; {
		_, report, err := g.report()
		if err == nil && !bytes.Equal(report, sent) {
			err = s.group.Tell(report)
			sent = report
		}
		if err != nil {
			g.Log.Warn("the members of a group that are here are not reported", "group", g.name, "err", err)
			return s.leader
		}
		if g.mustJoin() {
			return s.leader
		}
		select {
		case <-ended:
			return s.leader
		case <-g.changed:
		}
	}
}

// mustJoin says whether the leader has not acknowledged all members here.
func (g *memberGroup) mustJoin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.follower.MustJoin()
}
