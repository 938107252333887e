package e2e

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRestartCommand: one container, then all in place: the pod keeps its address
// and its volumes, init containers run again (B-RAC-1).
func TestRestartCommand(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("again", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("prep", "echo x >> /v/prepared", mountV)+`
containers:
`+shell("main", "echo up $(wc -l < /v/prepared)\n"+waiter, mountV)+shell("other", waiter)))
	c.await(c.stdout, "up 1")
	before := shared.podNow(t, "again")
	shared.lifepod(t, "", "restart", "again", "-c", "main").wantCode(t, 0)
	if main := containerNamed(t, shared.podNow(t, "again").Status, "main"); main.RestartCount != 1 || main.State.Running == nil {
		t.Errorf("restart did not wait: %+v", main)
	}
	shared.lifepod(t, "", "restart", "again", "--all", "--graceful").wantCode(t, 0)
	c.await(c.stdout, "up 2")
	c.await(c.stderr, `other started \(1st restart\)`)
	after := shared.podNow(t, "again")
	assert.True(t, after.UID == before.UID && after.Status.PodIP == before.Status.PodIP && after.Status.PodIP != "",
		"before %s %s, after %s %s", before.UID, before.Status.PodIP, after.UID, after.Status.PodIP)
	main, other := containerNamed(t, after.Status, "main"), containerNamed(t, after.Status, "other")
	assert.True(t, main.RestartCount == 2 && other.RestartCount == 1, "%d and %d restarts, want 2 and 1", main.RestartCount, other.RestartCount)
	shared.lifepod(t, "", "stop", "again").wantCode(t, 0)
	c.wait()
}

// TestResizeCommand: a container's limits are changed while it runs (KEP-1287),
// and what can't be is an error that says why.
func TestResizeCommand(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("resized", `
containers:
`+shell("main", waiter, "resources: {limits: {cpu: 500m, memory: 64Mi}}")))
	got := shared.lifepod(t, "", "resize", "resized", "--cpu", "250m", "--memory", "96Mi")
	assert.Require(t, got.code == 0, "%+v", got)
	now := shared.podNow(t, "resized")
	for where, r := range map[string]v1.ResourceRequirements{
		"spec": now.Spec.Containers[0].Resources, "status": *now.Status.ContainerStatuses[0].Resources,
	} {
		assert.True(t, r.Limits.Cpu().String() == "250m" && r.Limits.Memory().String() == "96Mi" && r.Requests.Cpu().String() == "250m",
			"%s: %+v", where, r)
	}
	assert.True(t, now.Status.ContainerStatuses[0].RestartCount == 0 && now.Generation == 2,
		"%d restarts, generation %d", now.Status.ContainerStatuses[0].RestartCount, now.Generation)
	checkMemory(t, cgroupOf(t, shared, "", now.Status), 96<<20)
	for args, want := range map[string]string{
		"--requests cpu=100m": "Pod QOS Class may not change as a result of resizing",
		"--cpu 100000":        "resize is Deferred: Node didn't have enough resource: cpu",
		"-c nope --cpu 1":     `pod resized has no container "nope": it has main`,
	} {
		got := shared.lifepod(t, "", append([]string{"resize", "resized"}, strings.Fields(args)...)...)
		assert.True(t, got.code == 125 && strings.Contains(got.stderr, want), "resize %s: %+v, want %q", args, got, want)
	}
	shared.lifepod(t, "", "stop", "--force", "resized")
	c.wait()
}

// TestConditionCommand: the pod is Ready when its readiness gates are open, and
// not any more when one closes (A-COND-6).
func TestConditionCommand(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("gated", `
readinessGates: [{conditionType: example.com/warm}]
containers:
`+shell("main", waiter)))
	c.await(c.stderr, "waits for its readiness gates")
	got := shared.lifepod(t, "", "condition", "gated", "example.com/warm=True", "--reason", "Warm", "--message", "it is warm")
	assert.True(t, got.code == 0 && got.stderr == "", "%+v", got)
	c.await(c.stderr, "pod Ready")
	for _, condition := range shared.podNow(t, "gated").Status.Conditions {
		assert.True(t, condition.Type != "example.com/warm" || condition.Reason == "Warm" && condition.Message == "it is warm" && !condition.LastTransitionTime.IsZero(),
			"%+v", condition)
	}
	shared.lifepod(t, "", "condition", "gated", "example.com/warm-")
	c.await(c.stderr, "pod not Ready")
	got = shared.lifepod(t, "", "condition", "gated", "x=True")
	assert.True(t, got.code == 0 && strings.HasPrefix(got.stderr, "warning: spec.readinessGates does not name x"), "a condition that no gate names: %+v", got)
	shared.lifepod(t, "", "stop", "--force", "gated")
	c.wait()
}
