package e2e

import (
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestEphemeralContainers: they start while an init container still runs, run
// once, count for nothing, and are stopped beside the others (A-ACT-5, B-SIG-6).
func TestEphemeralContainers(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("ephemeral-init", `
restartPolicy: Never
initContainers:
`+shell("setup", "trap 'exit 0' TERM; while true; do sleep 0.1; done")+`
containers:
`+shell("main", "exit 0")), "-o", "json")
	c.await(c.stdout, `"what":"started"`)

	got := shared.lifepod(t, "", "debug", "ephemeral-init", "--image", toolbox, "--name", "z", "--", "sh", "-c", "echo hello; exit 3")
	got.want(t, 3, "hello\n")
	b := shared.start(t, "", "debug", "ephemeral-init", "--image", toolbox, "--name", "b", "--", "sh", "-c", "trap 'exit 5' TERM; echo up; while true; do sleep 0.1; done")
	b.await(b.stdout, "up")
	c.signal(syscall.SIGINT)
	b.wait().wantCode(t, 5)

	status := readStory(t, c.wait().stdout).last(t)
	list := status.EphemeralContainerStatuses
	assert.Require(t, len(list) == 2 && list[0].Name == "b" && list[1].Name == "z", "ephemeral containers: %+v", list) // A-CST-1
	for i, code := range []int32{5, 3} {
		ended := list[i].State.Terminated
		assert.True(t, ended != nil && ended.ExitCode == code && list[i].RestartCount == 0 && !list[i].Ready && list[i].Started == nil, // A-CST-12
			"ephemeral container: %+v", list[i])
	}
	assert.Equal(t, 4, status.ObservedGeneration, "observed generation") // two containers and the deletion (A-COND-11)
}
