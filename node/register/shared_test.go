package register

import (
	"log/slog"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nodes that are followed together each hear of their own; one that was registered after a list
// is not gone because the list has not got it, and a list after an outage says that it is over.
func TestSharedFollowsEachNode(t *testing.T) {
	node := func(name, version string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", ResourceVersion: version}}
	}
	follow := func(name string) *follower {
		object := newObject(node(name, ""), func(*v1.Node) {})
		return &follower{name: name, object: object, calls: newCalls(), link: newLink(), log: slog.New(slog.DiscardHandler)}
	}
	s := &Shared{}
	store, a, b := sharedNodes{s}, follow("a"), follow("b")
	s.add(a)
	s.add(b)
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b.object.publish(node("b", "7"), false) // as registered
	try(store.Replace([]any{node("a", "3"), node("c", "4")}, "5"))
	if got := a.object.newest.Load(); got == nil || got.ResourceVersion != "3" {
		t.Errorf("the list has not told a: %v", got)
	}
	if b.calls.absent() {
		t.Error("b is gone, which is newer than the list")
	}
	if a.calls.take().back || len(a.link.over) != 0 {
		t.Error("the first list ends an outage")
	}
	try(store.Update(node("a", "8")))
	if got := a.object.newest.Load(); got.ResourceVersion != "8" {
		t.Errorf("a is %s after an update", got.ResourceVersion)
	}
	try(store.Delete(node("b", "9")))
	if !b.calls.absent() || a.calls.absent() {
		t.Errorf("b was deleted: gone are a %t, b %t", a.calls.absent(), b.calls.absent())
	}
	try(store.Add(node("b", "10")))
	if b.calls.absent() {
		t.Error("b is there again")
	}
	try(store.Replace([]any{node("b", "10")}, "11"))
	if !a.calls.absent() || b.calls.absent() {
		t.Errorf("the second list has no a: gone are a %t, b %t", a.calls.absent(), b.calls.absent())
	}
	if !b.calls.take().back || len(b.link.over) != 1 {
		t.Error("the second list ends no outage")
	}
	s.remove(b)
	try(store.Delete(node("b", "12")))
	if b.calls.absent() {
		t.Error("b hears although it has gone")
	}
}
