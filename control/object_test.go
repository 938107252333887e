package control

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func testPod() *v1.Pod {
	always, grace := v1.ContainerRestartPolicyAlways, int64(30)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1", Generation: 1},
		Spec: v1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			RestartPolicy:                 v1.RestartPolicyAlways,
			InitContainers:                []v1.Container{{Name: "prep"}, {Name: "side", RestartPolicy: &always}},
			Containers:                    []v1.Container{{Name: "main", Stdin: true}, {Name: "other"}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
}

func take(w *Watcher) (states []string) {
	changes, _ := w.Take()
	for _, c := range changes {
		states = append(states, fmt.Sprintf("%s %s %s", c.Type, c.Pod.ResourceVersion, c.Pod.Status.Phase))
	}
	return states
}

// Every watcher sees every state, in order, none left out, and the end.
func TestWatch(t *testing.T) {
	o := NewObject(testPod())
	first := o.Watch()
	o.Status(v1.PodStatus{Phase: v1.PodPending})
	second := o.Watch()
	o.Status(v1.PodStatus{Phase: v1.PodRunning})
	o.Gone()
	o.Gone()
	third := o.Watch()
	for i, tc := range []struct {
		watcher *Watcher
		want    []string
	}{
		{first, []string{"ADDED 1 Running", "MODIFIED 2 Pending", "MODIFIED 3 Running", "DELETED 3 Running"}},
		{second, []string{"ADDED 2 Pending", "MODIFIED 3 Running", "DELETED 3 Running"}},
		{third, []string{"ADDED 3 Running", "DELETED 3 Running"}},
	} {
		<-tc.watcher.Ready()
		assert.Deep(t, fmt.Sprintf("watcher %d", i), tc.want, take(tc.watcher))
	}
}

// A watcher that takes nothing costs bounded memory, and is told that it has lost.
func TestSlowWatcher(t *testing.T) {
	o := NewObject(testPod())
	w, left := o.Watch(), o.Watch()
	o.Unwatch(left)
	for range 2 * watchAhead {
		o.Status(v1.PodStatus{})
	}
	changes, lost := w.Take()
	assert.True(t, len(changes) == watchAhead && lost, "%d changes, lost %v, want %d and true", len(changes), lost, watchAhead)
	got := take(left)
	assert.True(t, len(got) == 1, "a watcher that has left got %v", got)
	assert.True(t, len(o.watchers) == 0, "%d watchers are kept", len(o.watchers))
}

// The deletion of the API: a timestamp that only comes nearer (B-WRK-9), and one
// generation more (A-COND-11).
func TestStopRequested(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	seconds := func(n int64) *int64 { return &n }
	o := NewObject(testPod())
	for _, tc := range []struct {
		name    string
		after   time.Duration
		request lifecycle.StopRequested
		ends    time.Duration
		grace   int64
	}{
		{"the pod's own grace", 0, lifecycle.StopRequested{}, 30 * time.Second, 30},
		{"again, later", 5 * time.Second, lifecycle.StopRequested{}, 30 * time.Second, 30},
		{"more", 5 * time.Second, lifecycle.StopRequested{GraceSeconds: seconds(100)}, 30 * time.Second, 30},
		{"less", 6 * time.Second, lifecycle.StopRequested{GraceSeconds: seconds(10)}, 16 * time.Second, 10},
		{"nothing is a second", 7 * time.Second, lifecycle.StopRequested{GraceSeconds: seconds(0)}, 8 * time.Second, 1},
		{"force", 7 * time.Second, lifecycle.StopRequested{Force: true}, 7 * time.Second, 0},
	} {
		o.StopRequested(at.Add(tc.after), tc.request)
		pod := o.Pod()
		if got := pod.DeletionTimestamp.Sub(at); got != tc.ends || *pod.DeletionGracePeriodSeconds != tc.grace || pod.Generation != 2 {
			t.Errorf("%s: ends after %v with grace %d, generation %d; want %v, %d, 2",
				tc.name, got, *pod.DeletionGracePeriodSeconds, pod.Generation, tc.ends, tc.grace)
		}
	}
}

// The same event again is counted; the number of events is bounded.
func TestEvents(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := NewObject(testPod())
	pulled := lifecycle.RecordEvent{Type: "Normal", Reason: "Pulled", Message: "m", FieldPath: "spec.containers{main}"}
	o.Event(at, pulled)
	o.Event(at.Add(time.Second), lifecycle.RecordEvent{Type: "Normal", Reason: "Created"})
	o.Event(at.Add(2*time.Second), pulled)
	var got []string
	for _, e := range o.Events() {
		got = append(got, fmt.Sprintf("%s %d %v %s", e.Reason, e.Count, e.LastTimestamp.Sub(at), e.InvolvedObject.UID))
	}
	assert.Deep(t, "", []string{"Created 1 1s uid-1", "Pulled 2 2s uid-1"}, got)
	for i := range 2 * maxEvents {
		o.Event(at, lifecycle.RecordEvent{Message: fmt.Sprint(i)})
	}
	assert.Equal(t, maxEvents, len(o.Events()), "events are kept")
}
