package register

import (
	"log/slog"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
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
	store, a, b := s.store(), follow("a"), follow("b")
	s.add(a)
	s.add(b)
	try := func(err error) {
		t.Helper()
		assert.Must(t, err)
	}
	b.object.publish(node("b", "7"), false) // as registered
	try(store.Replace([]any{node("a", "3"), node("c", "4")}, "5"))
	got := a.object.newest.Load()
	assert.True(t, got != nil && got.ResourceVersion == "3", "the list has not told a: %v", got)
	assert.True(t, !b.calls.absent(), "b is gone, which is newer than the list")
	assert.True(t, !a.calls.take().back && !a.link.over.isGiven(), "the first list ends an outage")
	try(store.Update(node("a", "8")))
	got = a.object.newest.Load()
	assert.True(t, got.ResourceVersion == "8", "a is %s after an update", got.ResourceVersion)
	try(store.Delete(node("b", "9")))
	assert.True(t, b.calls.absent() && !a.calls.absent(), "b was deleted: gone are a %t, b %t", a.calls.absent(), b.calls.absent())
	try(store.Add(node("b", "10")))
	assert.True(t, !b.calls.absent(), "b is there again")
	try(store.Replace([]any{node("b", "10")}, "11"))
	assert.True(t, a.calls.absent() && !b.calls.absent(), "the second list has no a: gone are a %t, b %t", a.calls.absent(), b.calls.absent())
	assert.True(t, b.calls.take().back && b.link.over.isGiven(), "the second list ends no outage")
	s.remove(b)
	try(store.Delete(node("b", "12")))
	assert.True(t, !b.calls.absent(), "b hears although it has gone")
}

// A node that is cut off does not hear of its Node; afterwards it hears how that is now, and that an outage is over (B-LOST-2).
func TestSharedCutsANodeOff(t *testing.T) {
	node := func(version string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: version}}
	}
	client := fake.NewClientset(node("7"))
	f := &follower{
		name: "a", client: client, object: newObject(node(""), func(*v1.Node) {}), calls: newCalls(), link: newLink(), log: slog.New(slog.DiscardHandler),
	}
	s := &Shared{}
	store := s.store()
	s.add(f)
	version := func() string { return f.object.newest.Load().ResourceVersion }
	err := store.Replace([]any{node("3")}, "3")
	assert.Require(t, err == nil && version() == "3", "the list: %s, %v", version(), err)
	s.Cut("a")
	err = store.Update(node("5"))
	assert.True(t, err == nil && version() == "3", "cut off it hears of %s, %v", version(), err)
	s.Join(t.Context(), "a")
	assert.True(t, version() == "7" && f.calls.take().back && f.link.over.isGiven(),
		"it is back with version %s, want that which the API server has now, and the end of an outage", version())
	err = store.Update(node("8"))
	assert.True(t, err == nil && version() == "8", "after it is back it hears of %s, %v", version(), err)
	s.Cut("a")
	assert.Must(t, client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
	s.Join(t.Context(), "a")
	assert.True(t, f.calls.absent(), "the Node was deleted meanwhile, and it has not heard")
}
