package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// playing is a pod that a test plays by hand, from a moment that is no whole second.
func playing(t testing.TB, spec v1.PodSpec) *transcript {
	t.Helper()
	pod := &v1.Pod{Spec: spec}
	defaults(pod)
	options := DefaultOptions()
	options.HostIPs = []string{"192.0.2.1", "2001:db8::1"}
	at := time.Date(2026, 1, 1, 0, 0, 0, 700_000_000, time.UTC)
	tr := newTranscript(pod, options, at)
	tr.feed(Accepted{})
	return tr
}

// statuses returns the statuses published in answer to facts.
func statuses(tr *transcript, facts ...Fact) (published []v1.PodStatus) {
	for _, f := range facts {
		for _, e := range tr.m.Step(Event{At: tr.now, Fact: f}) {
			if p, ok := e.(Publish); ok {
				published = append(published, p.Status)
			}
		}
	}
	return published
}

// What a running pod says of itself: addresses, times in whole seconds, and its
// containers as the runtime names them, sorted by name.
func TestStatusOfRunningPod(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "b"}, {Name: "a"}}})
	tr.now = tr.now.Add(5 * time.Second)
	tr.settle(t, nil)
	user := &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 7}}
	before := tr.now.Add(-2 * time.Second)
	tr.feed(ContainerRunning{ContainerID: "a-0", StartedAt: before, Image: "docker.io/library/img:1", ImageRef: "docker.io/library/img@sha256:2", User: user})
	tr.feed(ContainerRunning{ContainerID: "a-0"}) // what is not said again stays
	status := tr.m.Status()

	began := metav1.Unix(tr.start.Unix(), 0)
	running := func(since time.Time) v1.ContainerState {
		return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Unix(since.Unix(), 0)}} // A-STAT-9
	}
	started := true
	want := v1.PodStatus{
		ObservedGeneration: 1, // A-COND-11
		Phase:              v1.PodRunning,
		StartTime:          &began, // A-CST-18
		// A-CST-17
		HostIP: "192.0.2.1", HostIPs: []v1.HostIP{{IP: "192.0.2.1"}, {IP: "2001:db8::1"}},
		PodIP: "10.0.0.2", PodIPs: []v1.PodIP{{IP: "10.0.0.2"}},
		ContainerStatuses: []v1.ContainerStatus{ // A-CST-1
			{
				Name: "a", State: running(before), Ready: true, Started: &started, Image: "docker.io/library/img:1",
				ImageID: "docker.io/library/img@sha256:2", ContainerID: "containerd://a-0", // A-CST-4
				User: user, // A-CST-16
			},
			{Name: "b", State: running(tr.now), Ready: true, Started: &started, Image: "img:1", ImageID: "img@sha256:1", ContainerID: "containerd://b-0"},
		},
	}
	got := *status.DeepCopy()
	got.Conditions, got.Resources, got.AllocatedResources = nil, nil, nil
	for i := range got.ContainerStatuses {
		got.ContainerStatuses[i].Resources, got.ContainerStatuses[i].AllocatedResources = nil, nil
	}
	assert.Deep(t, "status", want, got)
	scheduled := Condition(status.Conditions, v1.PodScheduled)
	wantScheduled := &v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: began}
	if diff := cmp.Diff(wantScheduled, scheduled); diff != "" { // A-SCHED-4
		t.Errorf("PodScheduled (-want +got):\n%s", diff)
	}
}

// A condition's transition time is when it last changed, not when it was last written;
// startTime and the addresses stay (A-COND-2, A-CST-17, A-CST-18, A-STAT-7).
func TestStatusKeepsItsTimes(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}, RestartPolicy: v1.RestartPolicyNever})
	tr.now = tr.start.Add(10 * time.Second)
	tr.settle(t, nil)
	tr.now = tr.start.Add(20 * time.Second)
	tr.feed(tr.runtime.end(t, "a-0", ContainerExited{ExitCode: 1, Reason: "Error", FinishedAt: tr.now}))
	tr.now = tr.start.Add(30 * time.Second)
	tr.settle(t, nil)
	status := tr.m.Status()

	got := map[v1.PodConditionType]int64{}
	for _, c := range status.Conditions {
		got[c.Type] = c.LastTransitionTime.Unix() - tr.start.Unix()
	}
	want := map[v1.PodConditionType]int64{
		v1.PodScheduled: 0, v1.PodInitialized: 0, v1.PodReadyToStartContainers: 20, v1.ContainersReady: 20, v1.PodReady: 20,
	}
	assert.Deep(t, "transition times", want, got)
	assert.True(t, status.StartTime.Unix() == tr.start.Unix() && status.PodIP == "10.0.0.2" && tr.m.Stage() == Gone,
		"start %v, address %q, stage %v", status.StartTime, status.PodIP, tr.m.Stage())
}

// A status that says nothing new is not published (A-STAT-3).
func TestStatusIsPublishedOnce(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	running := ContainerRunning{ContainerID: "a-0", StartedAt: tr.now, Image: "x:1", ImageRef: "x@sha256:1"}
	got := statuses(tr, running)
	assert.True(t, len(got) == 1, "%d statuses for a new image name, want 1", len(got))
	tr.now = tr.now.Add(time.Minute)
	snapshot := tr.runtime.snapshot(Result{}, tr.now)
	got = statuses(tr, running, snapshot, Woke{}, snapshot)
	assert.True(t, len(got) == 0, "%d statuses for nothing new: %+v", len(got), got)
}

// A snapshot that began before the last action says nothing about it: a
// container that it does not have yet is not lost (A-SYNC-3).
func TestStaleSnapshotIsNotBelieved(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	before := tr.now
	tr.now = tr.now.Add(time.Second)
	tr.settle(t, nil)
	got := statuses(tr, Observed{Began: before})
	assert.True(t, len(got) == 0 && tr.m.Status().Phase == v1.PodRunning, "a stale snapshot changed the status: %+v", got)
	tr.now = tr.now.Add(time.Second)
	assert.True(t, len(statuses(tr, Observed{Began: tr.now})) != 0, "a fresh snapshot without the container changes nothing")
}

// A container is created from the image that was found, by the runtime's ID for it
// (A-IMG-9).
func TestCreatedFromWhatWasFound(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, []string{"CreateContainer"})
	for _, e := range tr.pending {
		if create, ok := e.(CreateContainer); ok {
			assert.True(t, create.Image.ID == "sha256:1", "created from %q, want what was found", create.Image.ID)
			return
		}
	}
	t.Errorf("no container is created: %v", tr.pending)
}

// Between the creation of a container and its start nothing is published, unless
// something else has happened (A-STAT-11).
func TestStatusWaitsForStart(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, []string{"StartContainer"})
	if got := tr.m.Status().ContainerStatuses[0].ContainerID; got != "" {
		t.Errorf("the status tells of %s, which has not started", got)
	}
	if got := statuses(tr, Woke{}); len(got) != 0 {
		t.Errorf("%d statuses while it starts", len(got))
	}
	got := statuses(tr, ContainerRunning{ContainerID: "a-0", StartedAt: tr.now})
	assert.True(t, len(got) == 1 && got[0].Phase == v1.PodRunning && got[0].ContainerStatuses[0].ContainerID == "containerd://a-0", "when it runs: %+v", got)

	slow := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	slow.settle(t, []string{"StartContainer"})
	if got := statuses(slow, StopRequested{}); len(got) != 1 || got[0].ContainerStatuses[0].ContainerID != "containerd://a-0" {
		t.Errorf("of a pod that is to end while its container starts: %+v", got)
	}
}

// A start that is due when something else happens does not hold up what that is: the exit of another container is reported at once.
func TestExitIsReportedBesideStart(t *testing.T) {
	tr := playing(t, v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "a"}, {Name: "b"}}})
	for _, failure := range []*Failure{nil, {Message: "busy"}} { // of a, and of b
		tr.settle(t, []string{"StartContainer"})
		if failure == nil {
			tr.succeed(0)
			continue
		}
		e := tr.pending[0]
		tr.pending = nil
		tr.feed(AnswerTo(e, failure))
	}
	tr.settle(t, nil)
	tr.now = tr.now.Add(tr.m.options.RetryAfter) // Woke is late
	exit := tr.runtime.end(t, "a-0", ContainerExited{FinishedAt: tr.now, Reason: "Completed"})
	if got := statuses(tr, exit); len(got) != 1 || got[0].ContainerStatuses[0].State.Terminated == nil || tr.m.containerNamed("b").Position != starting {
		t.Errorf("b is %s; statuses of the exit of a: %+v", tr.m.containerNamed("b").Position, got)
	}
}

func TestPrimaryFirst(t *testing.T) {
	tests := []struct {
		name                string
		runtime, host, want []string
	}{
		{"one address", []string{"10.0.0.2"}, []string{"192.0.2.1"}, []string{"10.0.0.2"}},
		{"none", nil, []string{"192.0.2.1"}, nil},
		{"the node's family comes first", []string{"fd00::2", "10.0.0.2"}, []string{"192.0.2.1"}, []string{"10.0.0.2", "fd00::2"}},
		{"of a node with IPv6 first", []string{"10.0.0.2", "fd00::2"}, []string{"2001:db8::1", "192.0.2.1"}, []string{"fd00::2", "10.0.0.2"}},
		{"one of each family", []string{"10.0.0.2", "10.0.0.3", "fd00::2", "fd00::3"}, []string{"192.0.2.1"}, []string{"10.0.0.2", "fd00::2"}},
		{"only the other family", []string{"fd00::2"}, []string{"192.0.2.1"}, []string{"fd00::2"}},
		{"a node that has none", []string{"fd00::2", "10.0.0.2"}, nil, []string{"10.0.0.2", "fd00::2"}},
		{"in the form of the API", []string{"FD00:0::2", "::ffff:10.0.0.2"}, []string{"192.0.2.1"}, []string{"10.0.0.2", "fd00::2"}},
		{"no address at all", []string{"", "x"}, []string{"192.0.2.1"}, nil},
	}
	for _, tc := range tests {
		t.Run("A-CST-17 "+tc.name, func(t *testing.T) {
			assert.Deep(t, "addresses", tc.want, primaryFirst(tc.runtime, tc.host))
		})
	}
}

// TestDualStackStatus: both families are in the status and in what containers
// are made with, in order.
func TestDualStackStatus(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "main"}}})
	tr.runtime.IPs = []string{"fd00::2", "10.0.0.2"}
	tr.settle(t, []string{"CreateContainer"})
	created := tr.takePending(t, "CreateContainer").(CreateContainer)
	status := tr.m.Status()
	diff := cmp.Diff([]v1.PodIP{{IP: "10.0.0.2"}, {IP: "fd00::2"}}, status.PodIPs)
	assert.True(t, diff == "" && status.PodIP == "10.0.0.2", "A-CST-17 podIP %s, podIPs (-want +got):\n%s", status.PodIP, diff)
	diff = cmp.Diff([]v1.HostIP{{IP: "192.0.2.1"}, {IP: "2001:db8::1"}}, status.HostIPs)
	assert.True(t, diff == "" && status.HostIP == "192.0.2.1", "A-CST-17 hostIP %s, hostIPs (-want +got):\n%s", status.HostIP, diff)
	assert.Deep(t, "A-NET-1 the container's addresses", []string{"10.0.0.2", "fd00::2"}, created.PodIPs)
}

// The next agent may run on a machine with another address: that is the one shown (A-CST-17).
func TestHostAddressChanges(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	options := tr.m.options
	options.HostIPs = []string{"192.0.2.9"}
	next := assert.Get(Restore(tr.m.pod, options, throughJSON(t, tr.m.Checkpoint()))).Must(t)
	tr.m = next
	tr.feed(Resumed{})
	status := tr.m.Status()
	assert.True(t, status.HostIP == "192.0.2.9" && len(status.HostIPs) == 1, "the host has %v", status.HostIPs)
}

// A new sandbox may have other addresses, as many as the old one: they are those of the pod then (A-CST-17, A-ACT-3).
func TestPodAddressChanges(t *testing.T) {
	tr := playing(t, v1.PodSpec{Containers: []v1.Container{{Name: "a"}}})
	tr.settle(t, nil)
	tr.feed(SandboxExited{SandboxID: "sandbox0"})
	tr.settle(t, []string{"CreateSandbox"})
	tr.feed(SandboxCreated{Result: Result{ID: tr.pending[0].EffectID()}, SandboxID: "sandbox1", IPs: []string{"10.0.0.3"}})
	status := tr.m.Status()
	diff := cmp.Diff([]v1.PodIP{{IP: "10.0.0.3"}}, status.PodIPs)
	assert.True(t, diff == "" && status.PodIP == "10.0.0.3", "podIP %s, podIPs (-want +got):\n%s", status.PodIP, diff)
}

// TestNotGivenYet: A-CST-15, a status does not say that a running container has what it had none of and was not given yet: another agent
// that goes on with the pod would not give it.
func TestNotGivenYet(t *testing.T) {
	some := func(names ...v1.ResourceName) v1.ResourceRequirements {
		r := v1.ResourceRequirements{Limits: v1.ResourceList{}, Requests: v1.ResourceList{}}
		for _, name := range names {
			r.Limits[name], r.Requests[name] = resource.MustParse("100M"), resource.MustParse("100M")
		}
		return r
	}
	v := &containerView{instanceView: instanceView{runs: true}, actuated: some(v1.ResourceMemory)}
	assert.Deep(t, "", new(some(v1.ResourceMemory)), containerResources(some(v1.ResourceCPU, v1.ResourceMemory), v))
	small := some(v1.ResourceCPU, v1.ResourceMemory) // also where what a runtime reports means nothing
	small.Limits[v1.ResourceCPU], small.Requests[v1.ResourceCPU] = resource.MustParse("1m"), resource.MustParse("1m")
	assert.Deep(t, "small", new(some(v1.ResourceMemory)), containerResources(small, v))
	least := some(v1.ResourceMemory)
	least.Requests[v1.ResourceCPU] = resource.MustParse("2m")
	v.reported = &least // by a runtime, of a container without a CPU request
	assert.Deep(t, "", new(some(v1.ResourceMemory)), containerResources(some(v1.ResourceMemory), v))
	v.reported, v.actuated = nil, some(v1.ResourceCPU, v1.ResourceMemory)
	assert.Deep(t, "", new(v.actuated), containerResources(v.actuated, v))
}
