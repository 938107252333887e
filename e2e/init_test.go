package e2e

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestInitOrder: init containers one after the other, then the others at once.
func TestInitOrder(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("order", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("one", "sleep 0.3; echo one >> /v/order", mountV)+shell("two", "echo two >> /v/order", mountV)+`
containers:
`+shell("main", "cat /v/order", mountV)))
	got.check(t, 0, "main | one\nmain | two\n", `
+ pod sandbox ready, address ADDRESS
+ one started
+ one exited 0 (init container completed)
+ two started
+ two exited 0 (init container completed)
+ main started
+ pod Running
+ pod Ready
+ main exited 0 (restartPolicy Never)
+ pod ends (all its containers have ended)
+ pod Succeeded`)
}

const mountV = "volumeMounts: [{name: v, mountPath: /v}]"

// TestInitFailure: with restartPolicy Never a failed init container fails the
// pod; nothing after it starts and its exit code is the command's.
func TestInitFailure(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 7, pod("init-fails", `
restartPolicy: Never
initContainers:
`+shell("broken", "exit 7")+shell("never", "true")+`
containers:
`+shell("main", "true")))
	last := result.last(t)
	assert.Deep(t, "phase", v1.PodFailed, last.Phase)
	c := containerNamed(t, last, "broken")
	assert.True(t, c.State.Terminated != nil && c.State.Terminated.ExitCode == 7, "broken: %+v", c.State)
	for _, name := range []string{"never", "main"} {
		c := containerNamed(t, last, name)
		assert.True(t, c.State.Waiting != nil && c.State.Waiting.Reason == "PodInitializing", "%s: %+v", name, c.State)
	}
	reasons := result.reasons("main")
	assert.True(t, len(reasons) == 0 || reasons[len(reasons)-1] != "Started", "main was started: %v", reasons)
}

// TestInitRetry: a failed init container is tried again by restartPolicy
// OnFailure, and the pod goes on when it succeeds.
func TestInitRetry(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("init-retry", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("once", "[ -e /v/tried ] || { touch /v/tried; exit 1; }", mountV)+`
containers:
`+shell("main", "true")))
	c := containerNamed(t, result.last(t), "once")
	assert.True(t, c.RestartCount == 1 && c.State.Terminated.ExitCode == 0, "once: %+v", c)
}
