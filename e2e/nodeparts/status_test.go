package nodeparts

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/publish"
)

func conditions(status v1.ConditionStatus, all ...v1.PodConditionType) (list []v1.PodCondition) {
	for _, t := range all {
		list = append(list, v1.PodCondition{Type: t, Status: status, ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0))})
	}
	return list
}

// full is a status with everything that a node reports.
func full() v1.PodStatus {
	yes, start := true, metav1.NewTime(time.Unix(1e9, 123))
	cpu := v1.ResourceList{v1.ResourceCPU: resource.MustParse("0.5")}
	running := v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: start}}
	resize := v1.PodCondition{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: "Deferred", Message: "later", ObservedGeneration: 1, LastProbeTime: start, LastTransitionTime: start}
	return v1.PodStatus{
		ObservedGeneration: 1, Phase: v1.PodRunning, StartTime: &start,
		HostIP: "192.0.2.1", HostIPs: []v1.HostIP{{IP: "192.0.2.1"}, {IP: "2001:DB8:0::1"}},
		PodIP: "10.0.0.5", PodIPs: []v1.PodIP{{IP: "10.0.0.5"}, {IP: "FD00:0::5"}},
		Conditions: append([]v1.PodCondition{resize}, conditions(v1.ConditionTrue,
			v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled)...),
		InitContainerStatuses: []v1.ContainerStatus{{Name: "init", Ready: true, Started: &yes, State: running, Image: "a", ImageID: "b", ContainerID: "containerd://1"}},
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "main", Ready: true, Started: &yes, State: running, RestartCount: 2, Image: "a", ImageID: "b", ContainerID: "containerd://2",
			LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: start, FinishedAt: start, ContainerID: "containerd://0"}},
			AllocatedResources:   cpu, Resources: &v1.ResourceRequirements{Requests: cpu},
			User: &v1.ContainerUser{Linux: &v1.LinuxContainerUser{UID: 1, GID: 2, SupplementalGroups: []int64{2}}},
		}},
	}
}

// TestFull: everything a node reports arrives in one request and stays as it is;
// what others report beside it is theirs (B-FIN-10, A-STAT-3).
func TestFull(t *testing.T) {
	n := joinAs(t, publish.WriterConfig{})
	always := v1.ContainerRestartPolicyAlways
	web := n.pod("web", func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{Name: "init", Image: "a", RestartPolicy: &always}}
		p.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	})
	seen := make(chan error, 1)
	n.Set(web, full(), func(err error) { seen <- err })
	assert.Must(t, <-seen)
	want := full()
	want.StartTime = new(metav1.NewTime(time.Unix(1e9, 0)))
	want.HostIPs[1].IP, want.PodIPs[1].IP, want.QOSClass = "2001:db8::1", "fd00::5", v1.PodQOSBestEffort
	same := cmp.Options{
		cmpopts.EquateApproxTime(time.Second), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b v1.PodCondition) bool { return a.Type < b.Type }),
	}
	assert.Deep(t, "status", want, n.read(web.Name).Status, same)

	gate := []byte(`{"status":{"conditions":[{"type":"example.com/gate","status":"True"}]}}`)
	assert.Must(t, assert.ErrorOf(n.admin.CoreV1().Pods("default").Patch(t.Context(), web.Name, types.StrategicMergePatchType, gate, metav1.PatchOptions{}, "status")))
	n.until("the gate", func(p *v1.Pod) bool { return len(p.Status.Conditions) == 7 })
	n.Set(web, full(), func(err error) { seen <- err })
	assert.Must(t, <-seen)
	writes := n.writes.Load()
	assert.True(t, writes == 1, "%d writes, want 1; log:\n%s", writes, n.log)
}

// TestTransitions: a watcher sees AllContainersRestarting True and then False,
// however quickly they follow each other (B-RAC-23).
func TestTransitions(t *testing.T) {
	n := joinAs(t, publish.WriterConfig{})
	web := n.pod("web")
	seen := make(chan error, 100)
	for round := range 10 {
		for _, is := range []v1.ConditionStatus{v1.ConditionTrue, v1.ConditionFalse} {
			status := full()
			status.InitContainerStatuses = nil
			status.Message = fmt.Sprint(round, is)
			status.Conditions = conditions(is, v1.AllContainersRestarting)
			n.Set(web, status, func(err error) { seen <- err })
			n.Set(web, status, nil)
		}
	}
	next := 0
	n.until("all transitions in order", func(p *v1.Pod) bool {
		if want := fmt.Sprint(next/2, []string{"True", "False"}[next%2]); p.Status.Message == want {
			next++
		}
		return next == 20
	})
	for range 20 {
		assert.NoError(t, <-seen)
	}
}

// TestEndedContainer: a container that may not start again keeps its end in the
// API, and the rest of the status is taken (A-STAT-6, A-API-4, B-FIN-9).
func TestEndedContainer(t *testing.T) {
	n := joinAs(t, publish.WriterConfig{})
	web := n.pod("web", func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever })
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 3}}
	n.Set(web, v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{Name: "main", State: ended}}}, func(error) {})
	n.Set(web, v1.PodStatus{Phase: v1.PodRunning, Message: "on", ContainerStatuses: []v1.ContainerStatus{{Name: "main"}}}, nil)
	n.until("the newer status", func(p *v1.Pod) bool { return p.Status.Message == "on" })
	got := n.read(web.Name).Status.ContainerStatuses[0].State.Terminated
	assert.True(t, got != nil && got.ExitCode == 3, "the container's end is %v", got)
	assert.True(t, n.log.String() == "", "log:\n%s", n.log)
}

// TestSuccessor: when a pod is deleted by force, what its worker still says does
// not reach the next one of the same name, whether the watch has told of that or
// not (B-FIN-10).
func TestSuccessor(t *testing.T) {
	for _, watch := range []string{"told", "blind"} {
		t.Run(watch, func(t *testing.T) {
			n := joinAs(t, publish.WriterConfig{Patience: time.Minute})
			first := n.pod("web")
			n.Set(first, v1.PodStatus{Phase: v1.PodRunning}, nil)
			n.until("Running", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodRunning })
			n.blind.Store(watch == "blind")
			assert.Must(t, n.admin.CoreV1().Pods("default").Delete(t.Context(), first.Name, *metav1.NewDeleteOptions(0)))
			second := n.pod("web")
			seen := make(chan error, 1)
			n.Set(first, v1.PodStatus{Phase: v1.PodRunning, Message: "of the first"}, func(err error) { seen <- err })
			assert.ErrorIs(t, publish.ErrGone, <-seen, "the first is told")
			n.Delete(first, v1.PodStatus{Phase: v1.PodFailed})
			n.until("the second", func(p *v1.Pod) bool { return p.UID == second.UID })
			got := n.read(second.Name)
			assert.True(t, got.UID == second.UID && got.Status.Message == "" && got.DeletionTimestamp == nil, "the second has %v", got.Status)
		})
	}
}

// TestOutage: statuses set while the API server is away are there soon after it
// is back, and nothing else is done about it than one line in the log.
func TestOutage(t *testing.T) {
	const count = 100
	n := joinAs(t, publish.WriterConfig{Patience: 200 * time.Millisecond})
	var refs []publish.Ref
	for i := range count {
		refs = append(refs, n.pod(fmt.Sprint(i)))
	}
	up := 0
	for _, ref := range refs {
		n.Set(ref, v1.PodStatus{Phase: v1.PodPending, Message: "before"}, nil)
	}
	n.until("all before", func(p *v1.Pod) bool {
		if p.Status.Message == "before" {
			up++
		}
		return up == count
	})
	assert.Must(t, plane.StopAPIServer())
	late := make(chan error, count)
	for i := range 5 {
		for _, ref := range refs {
			n.Set(ref, v1.PodStatus{Phase: v1.PodRunning, Message: fmt.Sprint(i)}, nil)
		}
	}
	for _, ref := range refs {
		n.Set(ref, v1.PodStatus{Phase: v1.PodRunning, Message: "restarting"}, func(err error) { late <- err })
	}
	for range count {
		err := <-late
		assert.Require(t, errors.Is(err, publish.ErrUnseen), "while the API server is away: %v", err)
	}
	for _, ref := range refs {
		n.Set(ref, v1.PodStatus{Phase: v1.PodRunning, Message: "after"}, nil)
	}
	before := n.writes.Load()
	assert.Must(t, plane.StartAPIServer(t.Context()))
	began := time.Now()
	done := map[types.UID]bool{}
	n.until("all after", func(p *v1.Pod) bool {
		done[p.UID] = done[p.UID] || p.Status.Message == "after"
		return len(done) == count && !hasFalse(done)
	})
	t.Logf("%d pods right %s after the API server was ready, %d writes", count, time.Since(began).Round(time.Millisecond), n.writes.Load()-before)
	away := strings.Count(n.log.String(), "does not answer")
	assert.True(t, away >= 1 && away <= 3, "log:\n%s", n.log)
}

func hasFalse(m map[types.UID]bool) bool {
	for _, v := range m {
		if !v {
			return true
		}
	}
	return false
}
