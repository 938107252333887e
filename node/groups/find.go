package groups

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/node/groups/transport"
)

const (
	// patience is for the first member's node, which may begin just now, before another one leads.
	patience = 2 * time.Second
	// candidatesMost is how many nodes are asked one after the other: each may take a second not to answer.
	candidatesMost = 5
)

var errNotBegun = errors.New("its node has not begun with it")

// participate joins the node that leads the group, or leads it, or goes by its pods, until that is to be done anew. last is the node
// that led it last; looking is when a leader was last known. It returns the node that led the group meanwhile.
func (g *memberGroup) participate(ctx context.Context, last transport.Peer, looking time.Time) transport.Peer {
	var why error
	if last.Name != "" {
		var s *session
		if s, why = g.ask(ctx, last); why == nil {
			return g.follow(ctx, s)
		}
		g.lose()
	}
	asked := map[string]bool{}
	for options := (metav1.ListOptions{Limit: 1}); len(asked) < candidatesMost; {
		list, err := g.list(ctx, options)
		if err != nil {
			g.unreadable(err)
			return transport.Peer{}
		}
		for i := range list.Items {
			p, is := placedOf(&list.Items[i])
			switch {
			case !is || p.Node == "" || p.Leaving || asked[p.Node]:
				continue
			case p.Node == g.Node.Name:
				return g.lead(ctx, p.UID, why)
			}
			asked[p.Node] = true
			var s *session
			if s, why = g.joinAt(ctx, p); why == nil {
				return g.follow(ctx, s)
			}
			switch {
			case !leads(why):
				return g.lead(ctx, "", why)
			case time.Since(looking) < patience && !isSilent(why):
				return transport.Peer{}
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	return g.lead(ctx, "", why)
}

// leads says whether another node may lead as one can't be joined for that reason: not if that may well lead, and does not know who
// this node is, or this one can't know that of it.
func leads(err error) bool {
	return isSilent(err) || errors.Is(err, transport.ErrRefused) || errors.Is(err, errNotBegun)
}

func isSilent(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded)
}

// joinAt joins at the node of a member.
func (g *memberGroup) joinAt(ctx context.Context, p placed) (*session, error) {
	if p.hostIP == "" {
		return nil, fmt.Errorf("member %s: %w", p.Name, errNotBegun)
	}
	return g.ask(ctx, g.peer(p.Node, p.hostIP))
}

func (g *memberGroup) peer(node, hostIP string) transport.Peer {
	return transport.Peer{Name: node, Address: net.JoinHostPort(hostIP, strconv.Itoa(int(g.Port)))}
}

// lose takes that no leader is joined any more.
func (g *memberGroup) lose() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.follower.Leave()
}
