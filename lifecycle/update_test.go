package lifecycle

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// An update of the object that asks for other resources is a resize, and a negative grace may be replaced (A-API-4, A-ACT-15).
func TestUpdatedSpec(t *testing.T) {
	tr := playing(t, v1.PodSpec{TerminationGracePeriodSeconds: new(int64(-1)), Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	newer := tr.m.RequestedPod()
	newer.Generation++
	newer.Spec.TerminationGracePeriodSeconds = new(int64(1))
	newer.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	tr.feed(PodUpdated{Pod: newer})
	assert.True(t, slices.ContainsFunc(tr.pending, func(e Effect) bool { _, is := e.(AdmitResize); return is }),
		"nobody is asked whether there is room: %v", tr.pending)
	grace := tr.m.pod.Spec.TerminationGracePeriodSeconds
	assert.True(t, *grace == 1, "grace %d", *grace)
}

// A deletion that moves nearer in the API moves the deadline by as much, whenever the node hears of it (B-DEL-4).
func TestDeletionMovesNearer(t *testing.T) {
	tr := playing(t, v1.PodSpec{TerminationGracePeriodSeconds: new(int64(30)), Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	began, newer := tr.now, tr.m.RequestedPod()
	deletedBy := func(after, grace int64) {
		newer = newer.DeepCopy()
		newer.DeletionTimestamp = &metav1.Time{Time: began.Add(time.Duration(after) * time.Second)}
		newer.DeletionGracePeriodSeconds = &grace
		tr.feed(PodUpdated{Pod: newer})
	}
	deletedBy(30, 30)
	tr.advance(t, "9s")
	deletedBy(15, 10) // asked for after 5 s
	left := tr.m.stop.Deadline.Sub(began)
	assert.True(t, left == 15*time.Second, "the deadline is %v after the deletion, want 15s", left)
}
