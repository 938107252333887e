package groups

import (
	"context"
	"log/slog"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/groups/transport"
)

// MembersConfig is what Members need.
type MembersConfig struct {
	Client kubernetes.Interface
	Node   *transport.Node
	Port   int32 // of the APIs of all nodes
	Kept   *Kept
	Log    *slog.Logger
}

// Members are the pods of a node that are members of groups without a leader (B-GRP-17). The API server is asked nothing
// before there is one.
type Members struct {
	MembersConfig

	mu     sync.Mutex
	groups map[types.NamespacedName]*memberGroup
	of     map[types.UID]*memberGroup
	begin  func(*memberGroup) // has a group followed; nil: not yet, or no more
}

func NewMembers(c MembersConfig) *Members {
	return &Members{MembersConfig: c, groups: map[types.NamespacedName]*memberGroup{}, of: map[types.UID]*memberGroup{}}
}

func (m *Members) join(pod *v1.Pod, says map[string]string, tell func(lifecycle.GroupSeen)) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[lifecycle.GroupNameLabel]}
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[name]
	if g == nil {
		g = newMemberGroup(m, name)
		m.groups[name] = g
	}
	m.of[pod.UID] = g
	g.join(&here{pod: pod, says: says, tell: tell})
	if len(g.here) == 1 && m.begin != nil {
		m.begin(g)
	}
}

func (m *Members) leave(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.of[uid]
	if g == nil {
		return
	}
	delete(m.of, uid)
	if g.leave(uid) == 0 {
		delete(m.groups, g.name)
		g.end()
	}
}

func (m *Members) says(uid types.UID, annotations map[string]string) {
	m.change(uid, func(h *here) { h.says = annotations })
}

func (m *Members) shows(pod *v1.Pod) {
	m.change(pod.UID, func(h *here) { h.pod = pod })
}

func (m *Members) change(uid types.UID, change func(*here)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.of[uid]; g != nil {
		g.change(uid, change)
	}
}

// Run follows the groups until the context ends; call it once.
func (m *Members) Run(ctx context.Context) {
	var following sync.WaitGroup
	defer following.Wait()
	m.mu.Lock()
	m.begin = func(g *memberGroup) {
		following.Go(func() {
			ctx, end := context.WithCancel(ctx)
			defer end()
			defer context.AfterFunc(g.life, end)()
			g.run(ctx)
		})
	}
	for _, g := range m.groups {
		m.begin(g)
	}
	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin = nil
}
