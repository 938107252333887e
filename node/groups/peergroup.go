package groups

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/internal/mailbox"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

const (
	// peersQuiet is how long further changes of a group are collected: when it restarts, all its pods change at once.
	peersQuiet = 10 * time.Millisecond
	// behindQuiet is the same for changes that say nothing but who is missing: it is shown after minutes (B-GRP-16).
	behindQuiet = 10 * time.Second
)

// peerGroup is a group without a leader that has members here. It is the store of its watch.
type peerGroup struct {
	name    types.NamespacedName
	left    chan struct{}  // closed when no member is here any more
	changed mailbox.Signal // has members told soon

	mu      sync.Mutex
	known   bool                     // the list is complete
	unknown lifecycle.GroupSeen      // why it is not; empty: not known yet
	all     map[types.UID]group.Peer // everywhere
	here    map[types.UID]*peerHere
}

// peerHere is a member here, and what it was told last.
type peerHere struct {
	tell func(lifecycle.GroupSeen)
	last *lifecycle.GroupSeen // nil: nothing
}

func newPeerGroup(name types.NamespacedName) *peerGroup {
	return &peerGroup{
		name: name, left: make(chan struct{}), changed: mailbox.NewSignal(),
		all: map[types.UID]group.Peer{}, here: map[types.UID]*peerHere{},
	}
}

func (g *peerGroup) join(uid types.UID, tell func(lifecycle.GroupSeen)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.here[uid] = &peerHere{tell: tell}
	g.changed.Send()
}

// leave says how many members are left here.
func (g *peerGroup) leave(uid types.UID) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.here, uid)
	return len(g.here)
}

// tells tells members how far their group is, after changes.
func (g *peerGroup) tells(ctx context.Context) {
	var late <-chan time.Time // something is to be told when it comes
	for {
		all := false
		select {
		case <-ctx.Done():
			return
		case <-g.changed:
		case <-late:
			all, late = true, nil
		}
		if g.tell(all) && late == nil {
			late = time.After(behindQuiet)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(peersQuiet):
		}
	}
}

// tell tells each member what it has not been told, and says whether something was held back that can wait, unless all
// is to be reported.
func (g *peerGroup) tell(all bool) (held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known && g.unknown.Unknown == "" {
		return false
	}
	peers := make([]group.Peer, 0, len(g.all))
	for _, p := range g.all {
		peers = append(peers, p)
	}
	of := group.PeersOf(peers)
	for uid, member := range g.here {
		now := g.unknown
		if _, shown := g.all[uid]; g.known {
			now = lifecycle.GroupSeen{Attempts: of.Attempts(string(uid), shown), Size: of.Size}
		}
		switch {
		case member.last != nil && reflect.DeepEqual(now, *member.last):
		case member.last != nil && !all && canWait(now, *member.last):
			held = true
		default:
			member.last = &now
			member.tell(now)
		}
	}
	return held
}

// canWait says whether nothing has changed but who is missing.
func canWait(now, last lifecycle.GroupSeen) bool {
	return now.Unknown == last.Unknown && reflect.DeepEqual(now.Attempts, last.Attempts) &&
		now.Size.Members == last.Size.Members && now.Size.Differ == last.Size.Differ
}

// failed takes why the members can't be read, and says whether that is new. What was known of them stays.
func (g *peerGroup) failed(err error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	why := unreadable(g.name, err)
	if g.known || why == g.unknown {
		return false
	}
	g.unknown = why
	g.changed.Send()
	return true
}

// Add takes a pod that is new (cache.ReflectorStore).
func (g *peerGroup) Add(object any) error { return g.Update(object) }

// Update takes a pod as it is now.
func (g *peerGroup) Update(object any) error {
	pod, err := metadataOf(object)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.put(pod)
	g.changed.Send()
	return nil
}

// Delete takes a pod that is gone, has failed, or has another group now.
func (g *peerGroup) Delete(object any) error {
	pod, err := metadataOf(object)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, pod.UID)
	g.changed.Send()
	return nil
}

// Replace takes all pods.
func (g *peerGroup) Replace(list []any, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.all)
	for _, object := range list {
		pod, err := metadataOf(object)
		if err != nil {
			return err
		}
		g.put(pod)
	}
	g.known, g.unknown = true, lifecycle.GroupSeen{}
	g.changed.Send()
	return nil
}

// Resync does nothing: all that is known was told.
func (g *peerGroup) Resync() error { return nil }

func (g *peerGroup) put(pod *metav1.ObjectMeta) {
	peer, is := lifecycle.GroupPeer(pod)
	if !is {
		delete(g.all, pod.UID)
		return
	}
	g.all[pod.UID] = peer
}

func metadataOf(object any) (*metav1.ObjectMeta, error) {
	if gone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	pod, is := object.(*metav1.PartialObjectMetadata)
	if !is {
		return nil, fmt.Errorf("metadata of a pod: got %T", object)
	}
	return &pod.ObjectMeta, nil
}
