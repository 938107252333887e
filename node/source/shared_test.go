package source

import (
	"errors"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster"
)

// calls notes what a feed is told.
type calls struct{ list []string }

func (f *calls) Wanted(_ roster.Source, pod *v1.Pod) {
	f.list = append(f.list, "wanted "+pod.Name+" "+pod.ResourceVersion)
}
func (f *calls) Unwanted(_ roster.Source, uid types.UID) {
	f.list = append(f.list, "unwanted "+string(uid))
}
func (f *calls) Heard(roster.Source) { f.list = append(f.list, "heard") }

// Nodes that share a watch are each told of their pods, also those that come later; the pods of
// others are not kept (B-RST-3).
func TestSharedTellsEachNodeOfItsPods(t *testing.T) {
	pod := func(name, node, version string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: version}}
		p.Spec.NodeName = node
		return p
	}
	want := func(what string, f *calls, want ...string) {
		t.Helper()
		assert.True(t, slices.Equal(f.list, want), "%s: told %q, want %q", what, f.list, want)
		f.list = nil
	}
	try := func(err error) {
		t.Helper()
		assert.Must(t, err)
	}
	var a, b calls
	s := &Shared{Mine: func(node string) bool { return node != "other" }}
	store := s.store()
	s.Add(&API{NodeName: "a", Feed: &a})
	want("before the list", &a)
	try(store.Replace([]any{pod("1", "a", "1"), pod("2", "b", "1"), pod("3", "other", "1")}, "1"))
	want("the list", &a, "wanted 1 1", "heard")
	try(store.Add(pod("4", "b", "2")))
	try(store.Update(pod("2", "b", "3")))
	try(store.Add(pod("5", "b", "4")))
	try(store.Delete(pod("5", "b", "5")))
	s.Add(&API{NodeName: "b", Feed: &b})
	want("a node that comes later", &b, "wanted 2 3", "wanted 4 2", "heard")
	assert.True(t, len(s.early["b"]) == 0 && len(s.early["other"]) == 0, "kept: %v", s.early) // the early ones of b went with it
	try(store.Delete(pod("4", "b", "6")))
	want("a delete", &b, "unwanted 4")
	try(store.Replace([]any{pod("1", "a", "7")}, "7"))
	want("another list", &a, "wanted 1 7")
	want("another list", &b, "unwanted 2")
	s.Remove("b")
	try(store.Update(pod("6", "b", "8")))
	want("a node that has gone", &b)
	s.Remove("a")
	try(store.Update(pod("7", "a", "9")))
	var again calls
	s.Add(&API{NodeName: "a", Feed: &again})
	want("a node that comes again", &again, "wanted 1 7", "wanted 7 9", "heard")
	assert.Fails(t, store.Add(&v1.Node{}), "a Node is taken for a pod")
}

// A node that is cut off is told nothing. When it is back it is told what is other than before, also what
// is gone, and of nothing else.
func TestSharedCutsANodeOff(t *testing.T) {
	pod := func(name, node, uid, version string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid), ResourceVersion: version}}
		p.Spec.NodeName = node
		return p
	}
	var a, b calls
	s := &Shared{Mine: func(string) bool { return true }}
	store := s.store()
	s.Add(&API{NodeName: "a", Feed: &a})
	s.Add(&API{NodeName: "b", Feed: &b})
	list := func(pods ...any) {
		t.Helper()
		assert.Must(t, store.Replace(pods, ""))
	}
	list(pod("same", "a", "u1", "1"), pod("goes", "a", "u2", "1"), pod("changes", "a", "u3", "1"), pod("again", "a", "u4", "1"), pod("other", "b", "u5", "1"))
	for _, missed := range []struct {
		what   string
		happen func() error
	}{
		{"events of the watch", func() error {
			return errors.Join(store.Delete(pod("goes", "a", "u2", "2")), store.Update(pod("changes", "a", "u3", "3")),
				store.Delete(pod("again", "a", "u4", "4")), store.Add(pod("again", "a", "u6", "5")), store.Add(pod("new", "a", "u7", "6")),
				store.Update(pod("other", "b", "u5", "7")))
		}},
		{"another list", func() error {
			return store.Replace([]any{pod("same", "a", "u1", "1"), pod("changes", "a", "u3", "8"), pod("again", "a", "u6", "5")}, "")
		}},
	} {
		a.list, b.list = nil, nil
		s.Cut("a")
		assert.Must(t, missed.happen())
		assert.True(t, len(a.list) == 0 && len(b.list) != 0, "%s: a, which is cut off, is told %q, and b %q", missed.what, a.list, b.list)
		s.Join("a")
		slices.Sort(a.list)
		want := []string{"unwanted u2", "unwanted u4", "wanted again 5", "wanted changes 3", "wanted new 6"}
		if missed.what == "another list" {
			want = []string{"unwanted u7", "wanted changes 8"}
		}
		assert.True(t, slices.Equal(a.list, want), "%s: told %q, want %q", missed.what, a.list, want)
	}
	if a.list = nil; store.Update(pod("same", "a", "u1", "9")) != nil || len(a.list) != 1 || len(s.early["a"]) > 0 {
		t.Errorf("after it is back it is told %q, and %v is kept", a.list, s.early)
	}
}
