package pods

import (
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
	"github.com/lifepod/lifepod/roster"
)

// groups are who is told of their groups.
type groups struct {
	mu  sync.Mutex
	all map[types.UID]func(lifecycle.GroupSeen)
	// said are the attempts of which the node has told, joined those that pods have joined with.
	said, joined []string
}

func (*groups) Shows(*v1.Pod) {}

// Says notes what other members hear at once.
func (g *groups) Says(_ types.UID, annotations map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.said = append(g.said, annotations[lifecycle.AttemptAnnotation])
}

func (g *groups) Join(pod *v1.Pod, says map[string]string, tell func(lifecycle.GroupSeen)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all[pod.UID] = tell
	g.joined = append(g.joined, says[lifecycle.AttemptAnnotation])
}

func (g *groups) Leave(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, uid)
}

func (g *groups) members() (list []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid := range g.all {
		list = append(list, uid)
	}
	slices.Sort(list)
	return list
}

func (g *groups) tell(s *story, seen lifecycle.GroupSeen) {
	for _, uid := range g.members() {
		g.all[uid](seen)
	}
	s.settle()
}

func grouped(pod *v1.Pod) {
	pod.Labels = map[string]string{lifecycle.JobSetLabel: "train"}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[lifecycle.GroupAnnotation] = lifecycle.LedByJobSet
}

// TestGroup: a pod that asks for it takes part in its group without a container of its own
// (B-GRP-1); its attempt goes with its status (B-GRP-3), and both outlive the agent (B-GRP-13).
func TestGroup(t *testing.T) {
	tell(t, func(s *story) {
		all := &groups{all: map[types.UID]func(lifecycle.GroupSeen){}}
		s.stop()
		s.groups = all
		s.agent()
		s.begins(podOf("member", grouped), podOf("other"))
		s.wantPhase("other", v1.PodRunning)
		if got := all.members(); !slices.Equal(got, []types.UID{"uid-member"}) {
			t.Errorf("B-GRP-1: %v are told of their groups; %q %v", got, s.events(), s.status("uid-member"))
		}
		s.wantPhase("member", v1.PodPending)
		all.tell(s, lifecycle.GroupSeen{})
		all.tell(s, lifecycle.GroupSeen{Attempts: group.Attempts{Current: new(int32(0))}})
		s.wantPhase("member", v1.PodRunning)

		all.tell(s, lifecycle.GroupSeen{Attempts: group.Attempts{Current: new(int32(0)), Previous: new(int32(0))}})
		s.stop()
		s.agent()
		s.settle()
		want := []string{"member " + lifecycle.AttemptAnnotation + "=0", "member " + lifecycle.AttemptAnnotation + "=1"}
		assert.Deep(t, "B-GRP-3: annotations", want, s.notes)
		assert.Deep(t, "B-GRP-24: what the group hears", []string{"0", "1"}, slices.Compact(all.said))
		assert.Deep(t, "B-GRP-29: what the next agent goes on with", []string{"", "1"}, all.joined)
		waits := func() bool {
			pod, _ := s.pods.Pod("default", "member")
			return pod.Status.ContainerStatuses[0].State.Waiting != nil
		}
		assert.True(t, waits(), "B-GRP-13: the restarted agent lets the pod start before its group")
		all.tell(s, lifecycle.GroupSeen{Attempts: group.Attempts{Current: new(int32(1)), Previous: new(int32(0))}})
		assert.True(t, !waits(), "the pod still waits for its group")
		s.deletes(podOf("member", grouped), 1)
		s.settle()
		got := all.members()
		assert.True(t, len(got) == 0, "%v are told of their groups although they are gone", got)
	})
}

// TestNoGroup: on a node without a cluster, and of a static pod, nobody says how far a group is
// (B-GRP-10).
func TestNoGroup(t *testing.T) {
	tell(t, func(s *story) {
		s.pods.Wanted(roster.File, staticPod("static", "1"))
		asks := staticPod("asks", "1")
		grouped(asks)
		s.pods.Wanted(roster.File, asks)
		s.heard()
		s.wantPhase("static", v1.PodRunning)
		s.wantPhase("asks", v1.PodPending)
		assert.True(t, slices.Contains(s.events(), "asks GroupUnknown"), "B-GRP-10: no event says why: %q", s.events())
	}, roster.File)
}
