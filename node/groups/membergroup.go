package groups

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/node/groups/transport"
)

// memberGroup is a group without a leader that has members here. Its goroutine finds the node that leads it, and joins that, or
// leads it, or goes by what the members' pods show (B-GRP-24, B-GRP-28).
type memberGroup struct {
	*Members
	name    types.NamespacedName
	life    context.Context // until no member is here any more
	end     context.CancelFunc
	changed mailbox.Signal   // there may be something to report
	joined  *transport.Group // the newest; nil: none was

	mu       sync.Mutex
	here     map[types.UID]*here
	follower *group.Follower   // nil: what it goes on from is not known yet
	unknown  lifecycle.Because // why nothing is known of the group; zero: something is, or will be
	way      group.Way         // by which the members here hear of the others
}

// here is a member on this node.
type here struct {
	pod  *v1.Pod           // as the API server has it
	says map[string]string // annotations that it is to have
	tell func(lifecycle.GroupSeen)
	last *lifecycle.GroupSeen // that it was told; nil: nothing
}

func newMemberGroup(m *Members, name types.NamespacedName) *memberGroup {
	g := &memberGroup{Members: m, name: name, changed: mailbox.NewSignal(), here: map[types.UID]*here{}}
	g.life, g.end = context.WithCancel(context.Background())
	return g
}

func (g *memberGroup) join(h *here) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.here[h.pod.UID] = h
	g.changed.Send()
}

func (g *memberGroup) change(uid types.UID, change func(*here)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h := g.here[uid]; h != nil {
		change(h)
		g.changed.Send()
	}
}

// leave says how many members are left here.
func (g *memberGroup) leave(uid types.UID) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.here, uid)
	g.changed.Send()
	return len(g.here)
}

// have has the follower know the members here; it is called with mu held.
func (g *memberGroup) have() {
	shown, says := g.peers()
	for _, p := range says {
		g.follower.Raise(p.UID, p.Mode)
	}
	g.follower.Have(shown)
}

// peers are the members here by what their pods are to show: with the modes that these do show, and those that they are to show.
// It is called with mu held.
func (g *memberGroup) peers() (all, says []group.Peer) {
	for _, h := range g.here {
		shown, is := lifecycle.GroupPeer(&h.pod.ObjectMeta)
		if !is {
			continue
		}
		object := metav1.ObjectMeta{Name: h.pod.Name, UID: h.pod.UID, DeletionTimestamp: h.pod.DeletionTimestamp, Annotations: maps.Clone(h.pod.Annotations)}
		maps.Copy(object.Annotations, h.says)
		p, _ := lifecycle.GroupPeer(&object)
		says = append(says, p)
		p.Mode = shown.Mode
		all = append(all, p)
	}
	return all, says
}

// run follows the group until the context ends.
func (g *memberGroup) run(ctx context.Context) {
	pauses := func() wait.Backoff {
		return wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: readRetryMost}
	}
	pause, looking := pauses(), time.Now()
	var last transport.Peer
	for ; ctx.Err() == nil; sleep(ctx, pause.Step()) {
		if err := g.recall(ctx); err != nil {
			g.unreadable(err)
			continue
		}
		began := time.Now()
		if last = g.participate(ctx, last, looking); last.Name != "" {
			looking = time.Now()
		}
		if time.Since(began) > readRetryMost {
			pause = pauses()
		}
	}
	if g.joined != nil {
		g.joined.End()
	}
	if g.life.Err() != nil {
		if err := g.Kept.forget(g.name); err != nil {
			g.Log.Warn("a group has no member here any more, and what is kept of it stays", "group", g.name, "err", err)
		}
	}
}

func sleep(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

// recall has the members here go on from what has outlived the process. Where that is lost, their pods say it (B-GRP-29).
func (g *memberGroup) recall(ctx context.Context) error {
	g.mu.Lock()
	known, old := g.follower != nil, false
	here, _ := g.peers()
	for _, p := range here {
		old = old || p.Attempt != nil
	}
	g.mu.Unlock()
	if known {
		return nil
	}
	kept, has := g.Kept.of(g.name)
	if !has && old {
		pods, err := g.list(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var shown []group.Peer
		for i := range pods.Items {
			if p, is := placedOf(&pods.Items[i]); is && p.Node == g.Node.Name {
				shown = append(shown, p.Peer)
			}
		}
		kept = group.Forgotten(versionOf(pods.ResourceVersion), shown)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.follower = group.NewFollower(g.name.String(), g.Node.Name, kept)
	g.have()
	return nil
}

// unreadable takes why the pods of the group can't be read.
func (g *memberGroup) unreadable(err error) {
	why := lifecycle.Because{Kind: "pods-of-group-unread", Text: g.name.String(), Reason: err.Error()}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unknown != why {
		g.Log.Warn("the pods of a group can't be read; tried again until they are", "group", g.name, "err", err)
	}
	g.unknown = why
	g.tell()
}

// tell tells each member here what it has not been told; it is called with mu held.
func (g *memberGroup) tell() {
	for uid, h := range g.here {
		seen := lifecycle.GroupSeen{Unknown: g.unknown}
		if h.last != nil && h.last.Unknown == (lifecycle.Because{}) {
			seen = *h.last
		}
		mode := int32(0)
		if g.follower != nil {
			if attempts, known := g.follower.Attempts(string(uid)); known {
				seen, g.unknown = lifecycle.GroupSeen{Attempts: attempts, Size: g.follower.Size(), Way: g.way}, lifecycle.Because{}
			} else if h.last == nil && g.unknown == (lifecycle.Because{}) {
				continue
			}
			mode = g.follower.Modes[string(uid)]
		}
		seen.Mode = mode
		if h.last == nil || !reflect.DeepEqual(seen, *h.last) {
			h.last = &seen
			h.tell(seen)
		}
	}
}

// report is what the members here are to show now; it outlives the process.
func (g *memberGroup) report() (r group.Report, payload []byte, err error) {
	g.mu.Lock()
	g.have()
	r = g.follower.Report()
	kept := g.follower.Kept()
	g.tell()
	g.mu.Unlock()
	slices.SortFunc(r.Members, func(a, b group.Peer) int { return cmp.Compare(a.UID, b.UID) })
	if err := g.Kept.keep(g.name, kept); err != nil {
		return r, nil, err
	}
	payload, err = json.Marshal(r)
	return r, payload, err
}
