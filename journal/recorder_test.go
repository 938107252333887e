package journal

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// TestDeletedInTheAPI: that a pod was deleted is known by its object, with what is left of its grace period.
func TestDeletedInTheAPI(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	then := []lifecycle.Effect{lifecycle.StopSandbox{ID: 1}}
	for _, test := range []struct {
		until *metav1.Time
		want  string
	}{{nil, ""}, {&metav1.Time{Time: at.Add(6500 * time.Millisecond)}, "7"}, {&metav1.Time{Time: at.Add(-time.Minute)}, "1"}} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: test.until}}
		if got := NewRecorder(nil).Step(at, lifecycle.PodUpdated{Pod: pod}, then)[0]; got.Detail[DetailGrace] != test.want {
			t.Errorf("deleted until %v: %q seconds are left, want %q", test.until, got.Detail[DetailGrace], test.want)
		}
	}
}

// TestExitInASnapshot: the runtime's list may show an exit before its event comes. It follows from what was begun to
// end the instance all the same.
func TestExitInASnapshot(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := []lifecycle.ObservedContainer{{Name: "main", ID: "c0"}}
	second := []lifecycle.ObservedContainer{{Name: "main", ID: "c0"}, {Name: "main", ID: "c1", Attempt: 1}}
	exit := func(code int32) []lifecycle.Effect {
		return []lifecycle.Effect{lifecycle.Tell{Report: lifecycle.Report{Subject: "main", Kind: lifecycle.KindExited, Code: code, Rule: "A-RST-1"}}}
	}
	r := NewRecorder(nil)
	r.Step(at, lifecycle.Observed{Containers: first}, nil)
	stopped := r.Step(at, lifecycle.RestartRequested{Container: "main"}, []lifecycle.Effect{lifecycle.StopContainer{ID: 1, Container: "main", ContainerID: "c0"}})
	asked := stopped[len(stopped)-1]
	ended := r.Step(at, lifecycle.Observed{Containers: first}, exit(0))
	if decided := ended[len(ended)-1]; asked.Name != "StopContainer" || decided.Cause != asked.ID {
		t.Errorf("the decision %+v does not follow from %+v", decided, asked)
	}
	crashed := r.Step(at, lifecycle.Observed{Containers: second}, exit(1))
	if decided := crashed[len(crashed)-1]; decided.Cause != crashed[0].ID {
		t.Errorf("the decision %+v follows from more than the snapshot", decided)
	}
}
