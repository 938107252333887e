package source

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/roster"
)

// told notes what a feed is told.
type told struct{ list []string }

func (f *told) Wanted(_ roster.Source, pod *v1.Pod) {
	f.list = append(f.list, "wanted "+pod.Name+" "+pod.ResourceVersion)
}
func (f *told) Unwanted(_ roster.Source, uid types.UID) {
	f.list = append(f.list, "unwanted "+string(uid))
}
func (f *told) Heard(roster.Source) { f.list = append(f.list, "heard") }

// Nodes that share a watch are each told of their pods, also those that come later; the pods of
// others are not kept (B-RST-3).
func TestSharedTellsEachNodeOfItsPods(t *testing.T) {
	pod := func(name, node, version string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: version}}
		p.Spec.NodeName = node
		return p
	}
	want := func(what string, f *told, want ...string) {
		t.Helper()
		if !slices.Equal(f.list, want) {
			t.Errorf("%s: told %q, want %q", what, f.list, want)
		}
		f.list = nil
	}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var a, b told
	s := &Shared{Mine: func(node string) bool { return node != "other" }}
	store := shared{s}
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
	if len(s.early["b"]) != 0 || len(s.early["other"]) != 0 { // the early ones of b went with it
		t.Errorf("kept: %v", s.early)
	}
	try(store.Delete(pod("4", "b", "6")))
	want("a delete", &b, "unwanted 4")
	try(store.Replace([]any{pod("1", "a", "7")}, "7"))
	want("another list", &a, "wanted 1 7")
	want("another list", &b, "unwanted 2")
	s.Remove("b")
	try(store.Update(pod("6", "b", "8")))
	want("a node that has gone", &b)
	if err := store.Add(&v1.Node{}); err == nil {
		t.Error("a Node is taken for a pod")
	}
}
