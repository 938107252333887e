package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
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
	if got.code != 3 || got.stdout != "hello\n" {
		t.Errorf("debug: exit %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
	b := shared.start(t, "", "debug", "ephemeral-init", "--image", toolbox, "--name", "b", "--", "sh", "-c", "trap 'exit 5' TERM; echo up; while true; do sleep 0.1; done")
	b.await(b.stdout, "up")
	c.signal(syscall.SIGINT)
	if got := b.wait(); got.code != 5 {
		t.Errorf("debug of a container that is stopped: %+v", got)
	}

	status := readStory(t, c.wait().stdout).last(t)
	list := status.EphemeralContainerStatuses
	if len(list) != 2 || list[0].Name != "b" || list[1].Name != "z" { // A-CST-1
		t.Fatalf("ephemeral containers: %+v", list)
	}
	for i, code := range []int32{5, 3} {
		ended := list[i].State.Terminated
		if ended == nil || ended.ExitCode != code || list[i].RestartCount != 0 || list[i].Ready || list[i].Started != nil { // A-CST-12
			t.Errorf("ephemeral container: %+v", list[i])
		}
	}
	if status.ObservedGeneration != 4 { // two containers and the deletion (A-COND-11)
		t.Errorf("observed generation %d, want 4", status.ObservedGeneration)
	}
}

// TestEphemeralTarget: with a target an ephemeral container sees the target's
// processes, without one its own (A-CRI-5); what the API forbids is refused.
func TestEphemeralTarget(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("ephemeral-target", "containers:\n"+shell("main", "trap 'exit 0' TERM; while true; do sleep 0.1; done # the target")), "-o", "json")
	c.await(c.stdout, `"what":"Ready"`)
	debug := func(args ...string) result {
		return shared.lifepod(t, "", slices.Concat([]string{"debug", "ephemeral-target", "--image", toolbox}, args, []string{"--", "cat", "/proc/1/cmdline"})...)
	}
	if got := debug("--target", "main"); got.code != 0 || !strings.Contains(got.stdout, "# the target") {
		t.Errorf("process 1 seen with a target: %+v", got)
	}
	if got := debug(); got.code != 0 || !strings.HasPrefix(got.stdout, "cat\x00") {
		t.Errorf("process 1 seen without a target: %+v", got)
	}
	if got := debug("--target", "other"); got.code != 125 || !strings.Contains(got.stderr, `targetContainerName: Not found: "other"`) {
		t.Errorf("an unknown target: %+v", got)
	}
	if got := debug("--name", "main"); got.code != 125 || !strings.Contains(got.stderr, `name: Duplicate value: "main"`) {
		t.Errorf("a name that is taken: %+v", got)
	}
	c.signal(syscall.SIGINT)
	if status := readStory(t, c.wait().stdout).last(t); len(status.EphemeralContainerStatuses) != 2 || status.Phase == v1.PodPending {
		t.Errorf("status: %+v", status)
	}
}
