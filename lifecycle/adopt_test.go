package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// An adopted container has what its status and the runtime say about it: the published
// status does not change (B-RST-1, B-RST-6, A-CST-4, A-CST-16). A static pod has no
// status; the runtime has it all (B-RST-4).
func TestAdoptedStatusIsComplete(t *testing.T) {
	user := &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 7}}
	said := &ContainerRunning{ContainerID: "a-0", Image: "img:1", ImageRef: "img@sha256:1", User: user}
	for name, test := range map[string]struct {
		status *v1.PodStatus // as another agent wrote it; nil: the one before
		said   *ContainerRunning
	}{
		"of the API":       {nil, nil},
		"of the runtime":   {&v1.PodStatus{}, said},
		"of both":          {nil, said},
		"of another state": {&v1.PodStatus{Phase: v1.PodPending}, said},
	} {
		t.Run(name, func(t *testing.T) {
			tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
			tr.settle(t, nil)
			tr.feed(ContainerRunning{ContainerID: "a-0", StartedAt: tr.now, Image: "img:1", ImageRef: "img@sha256:1", User: user})
			before := tr.m.Status().ContainerStatuses
			pod := tr.m.RequestedPod()
			pod.Status = tr.m.Status()
			if test.status != nil {
				pod.Status = *test.status
			}
			seen := tr.runtime.snapshot(Result{}, tr.now)
			for i := range seen.Containers {
				seen.Containers[i].Reported, seen.Containers[i].StartedAt = test.said, tr.now
			}
			tr.m, tr.pending = Adopt(pod, tr.m.options, seen), nil
			tr.feed(Resumed{})
			tr.settle(t, nil)
			assert.Deep(t, "status of the adopted container", before, tr.m.Status().ContainerStatuses)
		})
	}
}

// The runtime knows best when a container was started; if the event was lost, a snapshot
// has the time (A-CST-4, A-PLEG-4).
func TestSnapshotTellsTheStart(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	want := tr.now.Add(-time.Second).Truncate(time.Second)
	tr.now = tr.now.Add(time.Minute)
	seen := tr.runtime.snapshot(Result{}, tr.now)
	seen.Containers[0].StartedAt = want
	tr.feed(seen)
	got := tr.m.Status().ContainerStatuses[0].State.Running.StartedAt
	assert.True(t, got.Time.Equal(want), "started at %v, want %v", got, want)
}

// A static pod has no status: how its container ended the last time, only the runtime
// knows (B-RST-4, A-CST-5).
func TestAdoptedStaticPodKnowsItsLastState(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	pod := tr.m.RequestedPod()
	seen := Observed{
		Sandboxes: []ObservedSandbox{{ID: "box", Ready: true, IPs: []string{"10.0.0.2"}}},
		Containers: []ObservedContainer{
			{ID: "a-0", Name: "a", State: StateExited, Exit: &ContainerExited{ContainerID: "a-0", ExitCode: 3, Reason: "Error"}},
			{ID: "a-1", Name: "a", Attempt: 1, State: StateRunning, StartedAt: tr.now},
		},
	}
	tr.m, tr.pending = Adopt(pod, tr.m.options, seen), nil
	tr.feed(Resumed{})
	tr.feed(seen)
	got := tr.m.Status().ContainerStatuses[0]
	want := &v1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "containerd://a-0"}
	diff := cmp.Diff(want, got.LastTerminationState.Terminated)
	assert.True(t, diff == "" && got.RestartCount == 1, "restarts %d, want 1; last state (-want +got):\n%s", got.RestartCount, diff)
}

// An instance that began and ended while no agent ran is lastState nevertheless, whether
// the status has the end before it or none (B-RST-4, A-CST-5).
func TestAdoptedPodKnowsAnEndThatNobodyReported(t *testing.T) {
	for name, state := range map[string]v1.ContainerState{
		"after another end": {Terminated: &v1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", ContainerID: "containerd://a-0"}},
		"after none":        {Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
			pod := tr.m.RequestedPod()
			pod.Status = v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "a", ContainerID: "containerd://a-0", State: state}}}
			seen := Observed{
				Sandboxes: []ObservedSandbox{{ID: "box", Ready: true, IPs: []string{"10.0.0.2"}}},
				Containers: []ObservedContainer{
					{ID: "a-1", Name: "a", Attempt: 1, State: StateExited, Exit: &ContainerExited{ContainerID: "a-1", ExitCode: 128, Reason: "StartError"}},
					{ID: "a-2", Name: "a", Attempt: 2, State: StateRunning, StartedAt: tr.now},
				},
			}
			tr.m, tr.pending = Adopt(pod, tr.m.options, seen), nil
			tr.feed(Resumed{})
			tr.feed(seen)
			got := tr.m.Status().ContainerStatuses[0]
			want := &v1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", ContainerID: "containerd://a-1"}
			diff := cmp.Diff(want, got.LastTerminationState.Terminated)
			assert.True(t, diff == "" && got.RestartCount == 2, "restarts %d, want 2; last state (-want +got):\n%s", got.RestartCount, diff)
		})
	}
}

// The newest instance is in a sandbox that is not the pod's any more. One that was only created
// is created again, and counts (A-ACT-3, A-CST-11); one whose state the runtime does not know
// is stopped before another is created (A-ACT-7).
func TestAdoptedInstanceOfAnOldSandbox(t *testing.T) {
	for name, test := range map[string]struct {
		state ContainerState
		want  string
	}{
		"only created": {StateCreated, "CreateContainer a attempt=1"},
		"unknown":      {StateUnknown, "StopContainer a a-0 timeout=30s"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
			tr.runtime.Sandboxes = []*ObservedSandbox{{ID: "old"}, {ID: "new", Attempt: 1, Ready: true, IPs: []string{"10.0.0.2"}}}
			tr.runtime.Containers = []*PretendedContainer{{ObservedContainer: ObservedContainer{ID: "a-0", Name: "a", SandboxID: "old", State: test.state}}}
			tr.m, tr.pending = Adopt(tr.m.RequestedPod(), tr.m.options, tr.runtime.snapshot(Result{}, tr.now)), nil
			tr.feed(Resumed{})
			tr.settle(t, []string{"CreateContainer", "StopContainer", "StopSandbox", "RemoveSandbox"})
			var got []string
			for _, e := range tr.pending {
				switch e.(type) {
				case StopSandbox, RemoveSandbox:
				default:
					got = append(got, effectText(e))
				}
			}
			assert.Deep(t, "asked for", []string{test.want}, got)
		})
	}
}

// An ephemeral container runs once, also if a create without an answer, which an agent before had asked for, is carried out
// after it has run: what that made is removed (A-RST-2, A-CST-11).
func TestAdoptedEphemeralRanOnce(t *testing.T) {
	for name, state := range map[string]v1.ContainerState{
		"ended": {Terminated: &v1.ContainerStateTerminated{Reason: "Completed", ContainerID: "containerd://ran"}},
		"lost":  {Running: &v1.ContainerStateRunning{}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := playing(t, v1.PodSpec{
				Containers:          []v1.Container{{Name: "a"}},
				EphemeralContainers: []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug", Image: "img:1"}}},
			})
			tr.runtime.Sandboxes = []*ObservedSandbox{{ID: "sandbox0", Ready: true, IPs: []string{"10.0.0.2"}}}
			tr.runtime.Containers = []*PretendedContainer{
				{ObservedContainer: ObservedContainer{ID: "a-0", Name: "a", SandboxID: "sandbox0", State: StateRunning}},
				{ObservedContainer: ObservedContainer{ID: "late", Name: "debug", SandboxID: "sandbox0", State: StateCreated}},
			}
			pod := tr.m.RequestedPod()
			pod.Status.EphemeralContainerStatuses = []v1.ContainerStatus{{Name: "debug", ContainerID: "containerd://ran", State: state}}
			tr.m, tr.pending = Adopt(pod, tr.m.options, tr.runtime.snapshot(Result{}, tr.now)), nil
			tr.feed(Resumed{})
			tr.settle(t, nil)
			c := tr.m.containerNamed("debug")
			assert.True(t, c.Position == exited && c.ID == "ran", "the container is %v as %q", c.Position, c.ID)
			assert.True(t, tr.runtime.Container("late") == nil, "the runtime has %+v", tr.runtime.snapshot(Result{}, tr.now))
		})
	}
}

// An adopted pod that asks for no group that there is says so once.
func TestAdoptedInvalidGroup(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	pod := tr.m.RequestedPod()
	pod.Annotations = map[string]string{GroupAnnotation: "nobody"}
	pod.Status.StartTime = &metav1.Time{Time: tr.now}
	tr.runtime.Sandboxes = []*ObservedSandbox{{ID: "sandbox0", Ready: true, IPs: []string{"10.0.0.2"}}}
	tr.m, tr.pending = Adopt(pod, tr.m.options, tr.runtime.snapshot(Result{}, tr.now)), nil
	tr.feed(Resumed{})
	tr.settle(t, nil)
	for i, want := range []int{1, 0} {
		reports := 0
		for _, e := range tr.m.Step(Event{At: tr.now, Fact: GroupSeen{}}) {
			if event, is := e.(RecordEvent); is && event.Reason == reasonInvalidGroup {
				reports++
			}
		}
		assert.True(t, reports == want, "answer %d: told %d times, want %d", i, reports, want)
	}
}

// A container that was only created has had its turn, unless an init container before it is not through: then it was made
// late, by a call from before a restart of all containers (A-INIT-3, B-RST-5).
func TestAdoptedTurn(t *testing.T) {
	const here, ended, failed = "sandbox", int32(0), int32(1)
	instance := func(name string, state ContainerState, code int32) ObservedContainer {
		o := ObservedContainer{ID: name + "-0", Name: name, SandboxID: here, State: state}
		if state == StateExited {
			o.Exit = &ContainerExited{ContainerID: o.ID, ExitCode: code}
		}
		return o
	}
	for name, test := range map[string]struct {
		seen      []ObservedContainer
		completed int // init containers that are through
	}{
		"after a success":                   {[]ObservedContainer{instance("one", StateExited, ended), instance("main", StateCreated, 0)}, 2},
		"without a record":                  {[]ObservedContainer{instance("main", StateCreated, 0)}, 2},
		"while the one before runs":         {[]ObservedContainer{instance("one", StateRunning, 0), instance("main", StateCreated, 0)}, 0},
		"while the one before is created":   {[]ObservedContainer{instance("one", StateCreated, 0), instance("main", StateCreated, 0)}, 0},
		"after a failure":                   {[]ObservedContainer{instance("one", StateExited, failed), instance("main", StateCreated, 0)}, 0},
		"it runs after a failure":           {[]ObservedContainer{instance("one", StateExited, failed), instance("main", StateRunning, 0)}, 2},
		"an init container after a failure": {[]ObservedContainer{instance("one", StateExited, failed), instance("two", StateCreated, 0)}, 0},
		"an init container before another":  {[]ObservedContainer{instance("one", StateCreated, 0), instance("two", StateRunning, 0)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{Name: "one"}, {Name: "two"}}, Containers: []v1.Container{{Name: "main"}}}}
			defaults(pod)
			m := Adopt(pod, DefaultOptions(), Observed{Sandboxes: []ObservedSandbox{{ID: here, Ready: true, IPs: []string{"10.0.0.2"}}}, Containers: test.seen})
			assert.True(t, m.kept.InitTurn == test.completed, "%d init containers are through, want %d", m.kept.InitTurn, test.completed)
		})
	}
}

// What the API shows as an init container's previous end stays when the start of the instance after it was cut off, of which
// the runtime has a record (A-CST-5, A-STAT-6); any other record is newer than what the API shows (B-RST-4).
func TestAdoptedLastOfACutOffStart(t *testing.T) {
	for reason, want := range map[string]string{reasonStartError: "one-0", "Error": "one-1"} {
		instance := func(attempt uint32, code int32, reason string) ObservedContainer {
			id := fmt.Sprint("one-", attempt)
			return ObservedContainer{
				ID: id, Name: "one", Attempt: attempt, SandboxID: "sandbox", State: StateExited,
				Exit: &ContainerExited{ContainerID: id, ExitCode: code, Reason: reason},
			}
		}
		ended := func(id string) v1.ContainerState {
			return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed", ContainerID: "containerd://" + id}}
		}
		pod := &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{{Name: "one"}}, Containers: []v1.Container{{Name: "main"}}}}
		defaults(pod)
		pod.Status.InitContainerStatuses = []v1.ContainerStatus{
			{Name: "one", RestartCount: 2, ContainerID: "containerd://one-2", State: ended("one-2"), LastTerminationState: ended("one-0")},
		}
		m := Adopt(pod, DefaultOptions(), Observed{
			Sandboxes:  []ObservedSandbox{{ID: "sandbox", Ready: true, IPs: []string{"10.0.0.2"}}},
			Containers: []ObservedContainer{instance(1, 128, reason), instance(2, 0, "Completed")},
		})
		got := m.containers[0].Last.ContainerID
		assert.True(t, got == "containerd://"+want, "%s: the previous end is that of %s, want %s", reason, got, want)
	}
}

// A status tells that a pod has run before by its phase, or by an instance of a container that is no ephemeral one.
func TestRanBefore(t *testing.T) {
	instance, none := []v1.ContainerStatus{{ContainerID: "containerd://a"}}, []v1.ContainerStatus{{Name: "a"}}
	for name, test := range map[string]struct {
		status v1.PodStatus
		want   bool
	}{
		"new":                {v1.PodStatus{Phase: v1.PodPending, ContainerStatuses: none}, false},
		"an init container":  {v1.PodStatus{Phase: v1.PodPending, InitContainerStatuses: instance, ContainerStatuses: none}, true},
		"a container":        {v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: instance}, true},
		"ended":              {v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: instance}, true},
		"failed before that": {v1.PodStatus{Phase: v1.PodFailed}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := RanBefore(&v1.Pod{Status: test.status})
			assert.True(t, got == test.want, "it has run before: %t, want %t", got, test.want)
		})
	}
}
