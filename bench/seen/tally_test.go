package seen

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/bench/testbed"
)

// An object is ready when it was seen so for the first time; the changes of those that were there are counted.
func TestTally(t *testing.T) {
	all := Pods(testbed.IsReady)
	pod := func(name string, ready v1.ConditionStatus) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready}}},
		}
	}
	began := time.Now()
	for i, event := range []watch.Event{
		{Type: watch.Added, Object: pod("a", v1.ConditionFalse)},
		{Type: watch.Added, Object: pod("b", v1.ConditionFalse)},
		{Type: watch.Modified, Object: pod("a", v1.ConditionTrue)},
		{Type: watch.Modified, Object: pod("a", v1.ConditionFalse)},
		{Type: watch.Modified, Object: pod("a", v1.ConditionTrue)},
	} {
		all.note(began.Add(time.Duration(i)*time.Second), event.Type, event.Object)
	}
	all.note(began, watch.Deleted, cache.DeletedFinalStateUnknown{Obj: pod("b", v1.ConditionFalse)}) // the watch has missed its deletion
	if at := all.Latest(); !at.Equal(began.Add(2 * time.Second)) {
		t.Errorf("a is ready after %v", at.Sub(began))
	}
	if n := all.Count(); n != 3 {
		t.Errorf("%d changes, want 3", n)
	}
	if len(all.there) != 1 || !all.there["a"] {
		t.Errorf("%v are there, want a", all.there)
	}
}

// A Node with a taint is one that the control plane has not seen to be Ready.
func TestNodeIsReady(t *testing.T) {
	node := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
	if !nodeIsReady(node) {
		t.Error("a Ready Node")
	}
	node.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}}
	if nodeIsReady(node) {
		t.Error("one with a taint")
	}
}
