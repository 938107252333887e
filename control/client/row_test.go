package client_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/assert"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// a pod, its statuses in a few letters.
func podOf(phase v1.PodPhase, init, regular []v1.ContainerStatus) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", CreationTimestamp: metav1.NewTime(now.Add(-90 * time.Second))}}
	pod.Status = v1.PodStatus{Phase: phase, InitContainerStatuses: init, ContainerStatuses: regular}
	for _, c := range init {
		container := v1.Container{Name: c.Name}
		if strings.HasPrefix(c.Name, "side") {
			always := v1.ContainerRestartPolicyAlways
			container.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
	}
	for _, c := range regular {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: c.Name})
	}
	return pod
}

func list(statuses ...v1.ContainerStatus) []v1.ContainerStatus { return statuses }

func runs(name string, ready bool) v1.ContainerStatus {
	started := true
	return v1.ContainerStatus{Name: name, Ready: ready, Started: &started, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
}

func waits(name, reason string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}
}

func exited(name string, code int32, reason string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: name, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}
}

func restarted(c v1.ContainerStatus, n int32, ago time.Duration) v1.ContainerStatus {
	c.RestartCount = n
	c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{FinishedAt: metav1.NewTime(now.Add(-ago))}
	return c
}

func with(pod *v1.Pod, change func(*v1.Pod)) *v1.Pod {
	change(pod)
	return pod
}

func initialized(pod *v1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodInitialized, Status: v1.ConditionTrue})
}

func ready(pod *v1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
}

func deleted(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: now} }

// What kubectl get pods -o wide has in its columns for pods in every position.
func TestRow(t *testing.T) {
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		want string // READY STATUS RESTARTS
	}{
		{"nothing yet", podOf(v1.PodPending, nil, nil), "0/0 Pending 0"},
		{"creating", podOf(v1.PodPending, nil, list(waits("a", "ContainerCreating"))), "0/1 ContainerCreating 0"},
		{"image", podOf(v1.PodPending, nil, list(waits("a", "ImagePullBackOff"))), "0/1 ImagePullBackOff 0"},
		{"running", podOf(v1.PodRunning, nil, list(runs("a", true), runs("b", false))), "1/2 Running 0"},
		{"first container has the last word", podOf(v1.PodRunning, nil, list(waits("a", "CrashLoopBackOff"), waits("b", "ErrImagePull"))), "0/2 CrashLoopBackOff 0"},
		{"crash loop", podOf(v1.PodRunning, nil, list(restarted(waits("a", "CrashLoopBackOff"), 3, 12*time.Second))), "0/1 CrashLoopBackOff 3 (12s ago)"},
		{"latest restart", podOf(v1.PodRunning, nil, list(restarted(runs("a", true), 1, time.Hour), restarted(runs("b", true), 2, time.Minute))), "2/2 Running 3 (60s ago)"},
		{"restarts after a removal", podOf(v1.PodRunning, nil, list(v1.ContainerStatus{Name: "a", RestartCount: 2})), "0/1 Running 2"},
		{"out of memory", podOf(v1.PodFailed, nil, list(exited("a", 137, "OOMKilled"))), "0/1 OOMKilled 0"},
		{"error", podOf(v1.PodFailed, nil, list(exited("a", 3, "Error"))), "0/1 Error 0"},
		{"completed", podOf(v1.PodSucceeded, nil, list(exited("a", 0, "Completed"))), "0/1 Completed 0"},
		{"no reason", podOf(v1.PodFailed, nil, list(exited("a", 3, ""))), "0/1 ExitCode:3 0"},
		{"signal", podOf(v1.PodFailed, nil, list(with1(exited("a", 0, ""), 9))), "0/1 Signal:9 0"},
		{"completed and failed", podOf(v1.PodFailed, nil, list(exited("a", 0, "Completed"), exited("b", 1, "Error"))), "0/2 Error 0"},
		{"completed beside one that is ready", with(podOf(v1.PodRunning, nil, list(exited("a", 0, "Completed"), runs("b", true))), ready), "1/2 Running 0"},
		{"completed beside one, pod not ready", podOf(v1.PodRunning, nil, list(exited("a", 0, "Completed"), runs("b", true))), "1/2 NotReady 0"},
		{"first init container", podOf(v1.PodPending, list(runs("i", false), waits("j", "PodInitializing")), list(waits("a", "PodInitializing"))), "0/1 Init:0/2 0"},
		{"second init container", podOf(v1.PodPending, list(exited("i", 0, "Completed"), waits("j", "PodInitializing")), list(waits("a", "PodInitializing"))), "0/1 Init:1/2 0"},
		{"init container failed", podOf(v1.PodFailed, list(exited("i", 2, "Error")), list(waits("a", "PodInitializing"))), "0/1 Init:Error 0"},
		{"init container failed without a reason", podOf(v1.PodFailed, list(exited("i", 2, "")), nil), "0/0 Init:ExitCode:2 0"},
		{"init container was killed", podOf(v1.PodFailed, list(with1(exited("i", 1, ""), 9)), nil), "0/0 Init:Signal:9 0"},
		{"init container crash loops", podOf(v1.PodPending, list(restarted(waits("i", "CrashLoopBackOff"), 2, 5*time.Second)), list(waits("a", "PodInitializing"))), "0/1 Init:CrashLoopBackOff 2 (5s ago)"},
		{"initialized, creating", podOf(v1.PodPending, list(exited("i", 0, "Completed")), list(waits("a", "PodInitializing"))), "0/1 PodInitializing 0"},
		{"init restarts do not count afterwards", podOf(v1.PodRunning, list(restarted(exited("i", 0, "Completed"), 4, time.Hour)), list(runs("a", true))), "1/1 Running 0"},
		{"sidecar", podOf(v1.PodRunning, list(restarted(runs("side", true), 1, 7*time.Second)), list(runs("a", true))), "2/2 Running 1 (7s ago)"},
		{"sidecar not started", podOf(v1.PodPending, list(v1.ContainerStatus{Name: "side", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}), list(waits("a", "PodInitializing"))), "0/2 Init:0/1 0"},
		{"sidecar crash loops later", with(podOf(v1.PodRunning, list(waits("side", "CrashLoopBackOff")), list(runs("a", true))), initialized), "1/2 Init:CrashLoopBackOff 0"},
		{"terminating", with(podOf(v1.PodRunning, nil, list(runs("a", true))), deleted), "1/1 Terminating 0"},
		{"terminated while terminating", with(podOf(v1.PodFailed, nil, list(exited("a", 1, "Error"))), deleted), "0/1 Error 0"},
		{"reason of the pod", with(podOf(v1.PodFailed, nil, nil), func(p *v1.Pod) { p.Status.Reason = "DeadlineExceeded" }), "0/0 DeadlineExceeded 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Deep(t, "", tc.want, strings.Join(client.Row(tc.pod, now)[2:5], " "))
		})
	}
}

func with1(c v1.ContainerStatus, signal int32) v1.ContainerStatus {
	c.State.Terminated.Signal = signal
	return c
}

func TestRowNames(t *testing.T) {
	pod := podOf(v1.PodRunning, nil, list(runs("a", true)))
	assert.Deep(t, "", []string{"ns", "web", "1/1", "Running", "0", "90s", "<none>"}, client.Row(pod, now))
	pod.Status.PodIPs = []v1.PodIP{{IP: "10.0.0.2"}, {IP: "fd00::2"}}
	assert.Equal(t, "10.0.0.2", client.Row(pod, now)[6], "IP")
}

func TestDescribe(t *testing.T) {
	pod := podOf(v1.PodRunning, list(exited("i", 0, "Completed")), list(restarted(waits("a", "CrashLoopBackOff"), 3, 12*time.Second)))
	pod.UID, pod.Status.QOSClass, pod.Status.PodIPs = "u", v1.PodQOSBurstable, []v1.PodIP{{IP: "10.0.0.2"}, {IP: "fd00::2"}}
	pod.Status.ContainerStatuses[0].State.Waiting.Message = "back-off 20s restarting failed container=a pod=web_ns(u-1)"
	pod.Status.Conditions = []v1.PodCondition{{
		Type: v1.PodReady, Status: v1.ConditionFalse, Reason: "ContainersNotReady", Message: "containers with unready status: [a]",
		LastTransitionTime: metav1.NewTime(now.Add(-3 * time.Second)),
	}}
	grace := int64(30)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: now.Add(20 * time.Second)}, &grace
	events := []v1.Event{{
		Type: "Warning", Reason: "BackOff", Message: "Back-off restarting failed container a in pod web_ns(u-1)\nmore", Count: 2,
		LastTimestamp: metav1.NewTime(now.Add(-time.Second)), InvolvedObject: v1.ObjectReference{FieldPath: "spec.containers{a}"},
	}}
	var got strings.Builder
	assert.Must(t, client.Describe(&got, pod, events, now))
	want := `ns/web  Running, Terminating
uid u, created 90s ago, QoS Burstable, address 10.0.0.2, fd00::2
stopping: its grace of 30s ends in 20s

conditions
  Ready   False   3s   ContainersNotReady: containers with unready status: [a]

containers
  i   init   not ready   0 restarts   exited 0 Completed
  a          not ready   3 restarts   waiting: CrashLoopBackOff: back-off 20s restarting failed container=a
                                      last state: exited 0, 12s ago

events
  1s (2 times)   Warning   BackOff   a   Back-off restarting failed container a
`
	assert.Deep(t, "", want, got.String())
}

// TestPlain: text of a pod reaches the terminal without control characters, and makes no
// line that looks like lifepod's own.
func TestPlain(t *testing.T) {
	const evil = "\x1b[2J\r\u009b31mowned\nRunning\tyes"
	pod := podOf(v1.PodPhase("x"+evil), nil, list(exited("a", 1, evil), waits("b", evil)))
	pod.Name, pod.Status.Message, pod.Status.Reason = evil, evil, evil
	pod.Status.PodIPs = []v1.PodIP{{IP: evil}}
	pod.Status.ContainerStatuses[0].State.Terminated.Message = evil
	pod.Status.ContainerStatuses[0].LastTerminationState = *pod.Status.ContainerStatuses[0].State.DeepCopy()
	pod.Status.ContainerStatuses[1].State.Waiting.Message = evil
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse, Reason: evil, Message: evil}}
	events := []v1.Event{{Type: evil, Reason: evil, Message: evil}}
	var described, table strings.Builder
	assert.Must(t, client.Describe(&described, pod, events, now))
	assert.Must(t, client.Table(&table, client.Columns, [][]string{client.Row(pod, now)}))
	for what, text := range map[string]string{"description": described.String(), "table": table.String()} {
		assert.True(t, !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }), "%s has control characters: %q", what, text)
		assert.True(t, !strings.Contains(text, "\nRunning"), "%s has a line of the pod's: %q", what, text)
	}
	n := strings.Count(table.String(), "\n")
	assert.True(t, n == 2, "the table has %d lines:\n%s", n, table.String())
	want := "Ready   False   <unknown>   ^[[2J\\r\\u009b31mowned Running yes: ^[[2J"
	assert.True(t, strings.Contains(described.String(), want), "no %q in\n%s", want, described.String())
}

// The wide row has the columns of kubectl get pods -o wide.
func TestWideRow(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		NodeName: "n1", Containers: []v1.Container{{Name: "a"}},
		ReadinessGates: []v1.PodReadinessGate{{ConditionType: "x/warm"}, {ConditionType: "x/fed"}},
	}}
	pod.Namespace, pod.Name = "ns", "web"
	pod.Status.Phase = v1.PodRunning
	pod.Status.Conditions = []v1.PodCondition{{Type: "x/warm", Status: v1.ConditionTrue}, {Type: "x/fed", Status: v1.ConditionFalse}}
	row := client.WideRow(pod, time.Now())
	diff := cmp.Diff([]string{"n1", "<none>", "1/2"}, row[len(client.Columns):])
	assert.True(t, diff == "" && len(row) == len(client.WideColumns), "%d values for %d columns (-want +got):\n%s", len(row), len(client.WideColumns), diff)
	pod.Spec.ReadinessGates = nil
	row = client.WideRow(pod, time.Now())
	assert.True(t, row[len(row)-1] == "<none>", "without gates: %v", row)
}

// A pod that nobody attends to is shown as such, whatever its containers did last.
func TestUnattendedRow(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}}}}
	pod.Status.Phase, pod.Status.Reason = v1.PodRunning, "Unattended"
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "a", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
	assert.Equal(t, "Unattended", client.Row(pod, time.Now())[3], "status")
}
