package e2e

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

const waits = "trap 'exit 7' TERM; while true; do sleep 0.1; done"

// limits are a container's limits and the requests that go with them.
func limits(cpu, memory string) string {
	return "resources: {limits: {cpu: " + cpu + ", memory: " + memory + "}, requests: {cpu: 100m, memory: 32Mi}}"
}

// TestResize: cpu and memory grow and shrink while the container runs: its
// cgroup and the pod's have the new values, the status says so (A-ACT-12,
// A-CST-15, A-COND-10, A-EVT-5).
func TestResize(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("resize-in-place", "containers:\n"+shell("main", waits, limits("200m", "64Mi"))), "-o", "json")
	c.await(c.stdout, `"what":"Ready"`)
	for _, step := range []struct {
		cpu, memory, requests string
		shares, quota, bytes  int64
	}{
		{"400m", "128Mi", "cpu=250m", 256, 40000, 128 << 20},
		{"150m", "96Mi", "cpu=100m", 102, 15000, 96 << 20},
	} {
		if got := shared.lifepod(t, "", "resize", "resize-in-place", "--cpu", step.cpu, "--memory", step.memory, "--requests", step.requests); got.code != 0 {
			c.fatalf("resize: %+v", got)
		}
		status := readStory(t, lines(c.stdout.text())).last(t)
		inPod := cgroupOf(t, shared, "burstable", status)
		for _, level := range []string{inPod, filepath.Dir(inPod)} {
			checkCPU(t, level, step.shares, step.quota)
			checkMemory(t, level, step.bytes)
		}
	}
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	statuses := result.statuses()
	main := containerNamed(t, statuses[len(statuses)-1], "main")
	assert.True(t, main.RestartCount == 0 && main.Resources.Limits.Memory().String() == "96Mi" && main.AllocatedResources.Cpu().String() == "100m",
		"status: %d restarts, resources %+v, allocated %v", main.RestartCount, main.Resources, main.AllocatedResources)
	want := []string{"ResizeStarted", "ResizeCompleted", "ResizeStarted", "ResizeCompleted"}
	assert.Deep(t, "events", want, resizeEvents(result))
}

// resizeEvents are the reasons of the events about resizes.
func resizeEvents(result story) []string {
	var reasons []string
	for _, o := range result {
		if o.Type == "event" && strings.HasPrefix(o.Reason, "Resize") {
			reasons = append(reasons, o.Reason)
		}
	}
	return reasons
}

// TestResizeRestarts: a container whose policy says so is ended as a restart
// ends it and starts with the new values (A-ACT-12, A-ACT-8, A-BO-5, B-HOOK-7).
func TestResizeRestarts(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("resize-restarts", "volumes: [{name: v, emptyDir: {}}]\ncontainers:\n"+
		shell("main", "trap '[ -e /v/hook ] && exit 7' TERM; while true; do sleep 0.1; done", mountV, limits("200m", "64Mi"), `
resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]
lifecycle: {preStop: {exec: {command: [touch, /v/hook]}}}`)), "-o", "json")
	c.await(c.stdout, `"what":"Ready"`)
	if got := shared.lifepod(t, "", "resize", "resize-restarts", "-c", "main", "--memory", "128Mi"); got.code != 0 {
		c.fatalf("resize: %+v", got)
	}
	c.await(c.stdout, `"running":.*"ready":true,"restartCount":1`)
	status := readStory(t, lines(c.stdout.text())).last(t)
	main := containerNamed(t, status, "main")
	last := main.LastTerminationState.Terminated
	assert.True(t, last != nil && last.ExitCode == 7, "last state %+v: the preStop hook did not come first", main.LastTerminationState)
	checkMemory(t, cgroupOf(t, shared, "burstable", status), 128<<20)
	c.signal(syscall.SIGINT)
	const want = "Normal Killing Container main resize requires restart"
	assert.Deep(t, "event", want, readStory(t, c.wait().stdout).events("main", "Killing")[0])
}

// TestResizeRefused: what the API forbids changes nothing; what the node has no
// room for waits, and so does a memory limit below what is used (A-API-3,
// A-ACT-12, A-ACT-15, A-COND-10).
func TestResizeRefused(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("resize-refused", "containers:\n"+shell("main", waits, "resources: {limits: {cpu: 200m, memory: 64Mi}}")), "-o", "json")
	c.await(c.stdout, `"what":"Ready"`)
	resize := func(args ...string) result {
		return shared.lifepod(t, "", append([]string{"resize", "resize-refused"}, args...)...)
	}
	got := resize("--requests", "cpu=100m")
	assert.True(t, got.code == 125 && strings.Contains(got.stderr, "Pod QOS Class may not change as a result of resizing"), "another QoS class: %+v", got)
	resize("--cpu", "10000", "--no-wait").wantCode(t, 0)
	c.await(c.stdout, `"PodResizePending".*"reason":"Deferred"|"reason":"Deferred".*"PodResizePending"`)
	resize("--cpu", "200m", "--memory", "256Ki", "--no-wait").wantCode(t, 0)
	c.await(c.stdout, `cannot decrease memory limits: .*attempting to set container`)
	resize("--memory", "64Mi").wantCode(t, 0)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	want := []string{"ResizeDeferred", "ResizeStarted", "ResizeError", "ResizeStarted", "ResizeCompleted"}
	assert.Deep(t, "events", want, resizeEvents(result))
	for _, condition := range result.last(t).Conditions {
		assert.True(t, condition.Type != v1.PodResizePending && condition.Type != v1.PodResizeInProgress,
			"condition %+v of a pod that has ended", condition)
	}
}
