package groups

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/lifecycle/group"
)

var podResource = v1.SchemeGroupVersion.WithResource("pods")

// peer is the metadata of a member of the group train, of two.
func peer(name string, annotations ...string) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{lifecycle.GroupNameLabel: "train"},
			Annotations: map[string]string{lifecycle.GroupAnnotation: lifecycle.LedByMembers, lifecycle.GroupSizeAnnotation: "2"},
		},
	}
	for _, note := range annotations {
		key, value, _ := strings.Cut(note, "=")
		p.Annotations[lifecycle.GroupAnnotation+"-"+key] = value
	}
	return p
}

// putPod has the API server have a pod.
func (w *world) putPod(t *testing.T, pod *metav1.PartialObjectMetadata) {
	t.Helper()
	tracker := w.pods.Tracker()
	if err := tracker.Update(podResource, pod, "default"); err != nil {
		assert.Must(t, tracker.Create(podResource, pod, "default"))
	}
}

func (w *world) joinPeer(name string) {
	pod := peer(name)
	w.Join(&v1.Pod{ObjectMeta: pod.ObjectMeta}, func(f lifecycle.GroupSeen) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, f)
	})
	w.settle()
}

func wantSeen(t *testing.T, what string, got []lifecycle.GroupSeen, want ...lifecycle.GroupSeen) {
	t.Helper()
	assert.Deep(t, what, want, got, cmpopts.IgnoreFields(group.Attempts{}, "MembersHash"), cmpopts.EquateEmpty())
}

// TestPeers: a member is told how far its group is by the pods that have its label and the annotation, until it leaves, by
// one watch; nothing is asked of the API server before there is one (B-GRP-17, B-GRP-22).
func TestPeers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.putPod(t, peer("a"))
		w.putPod(t, peer("b", "attempt=0"))
		other := peer("c", "attempt=7")
		delete(other.Annotations, lifecycle.GroupAnnotation)
		w.putPod(t, other)
		w.settle()
		if n := len(w.pods.Actions()); n > 0 {
			t.Errorf("B-GRP-22: %d requests without a member", n)
		}
		w.joinPeer("a")
		wantSeen(t, "B-GRP-17: at first", w.takeSeen(), lifecycle.GroupSeen{Size: group.Size{Members: 2, Behind: "a (no attempt yet)"}})

		w.putPod(t, peer("a", "attempt=0"))
		wantSeen(t, "B-GRP-19: all have told attempt 0", w.takeSeen(), lifecycle.GroupSeen{
			Attempts: group.Attempts{Current: new(int32(0))}, Size: group.Size{Members: 2},
		})
		w.putPod(t, peer("b", "attempt=1", "began=0-x"))
		wantSeen(t, "B-GRP-19: one has told the next", w.takeSeen(), lifecycle.GroupSeen{
			Attempts: group.Attempts{Current: new(int32(0)), Previous: new(int32(0))}, Size: group.Size{Members: 2, Behind: "a (attempt 0)"},
		})
		assert.Must(t, w.pods.Tracker().Delete(podResource, "default", "b"))
		time.Sleep(behindQuiet)
		wantSeen(t, "B-GRP-17: one is gone", w.takeSeen(), lifecycle.GroupSeen{Size: group.Size{Members: 2, Podless: 1}})
		if n := count(w.pods.Actions(), "watch"); n != 1 {
			t.Errorf("B-GRP-22: %d watches", n)
		}
		for _, action := range w.pods.Actions() {
			if list, is := action.(kubetesting.ListAction); is {
				got := list.GetListRestrictions().Labels.String() + " " + list.GetListRestrictions().Fields.String()
				assert.True(t, got == "lifepod.dev/group-name=train status.phase!=Failed", "B-GRP-22: all of %s are listed", got)
			}
		}
		w.Leave("a")
		w.putPod(t, peer("b", "attempt=3"))
		assert.Empty(t, w.takeSeen(), "told although it has left")
	})
}

// TestPeersBehind: who is missing is reported later than what a member has to do, and then as it is (B-GRP-16).
func TestPeersBehind(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.putPod(t, peer("a", "size=3", "attempt=4"))
		w.putPod(t, peer("b", "size=3", "attempt=3"))
		w.joinPeer("a")
		w.takeSeen()
		w.putPod(t, peer("c", "size=3"))
		assert.Empty(t, w.takeSeen(), "told at once that another one is there")
		time.Sleep(behindQuiet)
		wantSeen(t, "B-GRP-16", w.takeSeen(), lifecycle.GroupSeen{
			Attempts: group.Attempts{Previous: new(int32(3))}, Size: group.Size{Members: 3, Behind: "b (attempt 3), c (no attempt yet)"},
		})
		w.putPod(t, peer("b", "size=4", "attempt=3"))
		wantSeen(t, "B-GRP-21: they differ in the size", w.takeSeen(), lifecycle.GroupSeen{
			Attempts: group.Attempts{Previous: new(int32(3))},
			Size:     group.Size{Differ: "members differ in the size of the group: a says 3 and b says 4"},
		})
	})
}

// TestPeersUnknown: a member is told why the pods can't be read, and how far the group is as soon as they can (B-GRP-10).
func TestPeersUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		refused := errors.New("pods is forbidden")
		var mu sync.Mutex
		w.pods.PrependReactor("list", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return refused != nil, nil, refused
		})
		w.putPod(t, peer("a"))
		w.joinPeer("a")
		time.Sleep(time.Minute)
		seen := w.takeSeen()
		const why = "the pods of group default/train can't be read: "
		if len(seen) != 1 || !strings.HasPrefix(seen[0].Unknown, why) || !strings.Contains(seen[0].Unknown, "forbidden") {
			t.Errorf("B-GRP-10: told %+v", seen)
		}
		mu.Lock()
		refused = nil
		mu.Unlock()
		time.Sleep(2 * readRetryMost)
		wantSeen(t, "B-GRP-22: when they can be read", w.takeSeen(), lifecycle.GroupSeen{
			Size: group.Size{Members: 2, Podless: 1, Behind: "a (no attempt yet)"},
		})
	})
}
