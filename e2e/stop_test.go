package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

const polite = `
trap 'echo asked; sleep 0.5; echo done; exit 5' TERM
echo working
while true; do sleep 0.1; done`

// stubborn ends only by force. Both say when their handlers are in place.
const stubborn = `
trap 'echo ignored' TERM
echo working
while true; do sleep 0.1; done`

// TestInterrupt: the first signal is the stop signal's, and the container ends
// in its own time (B-SIG-1).
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		signal  syscall.Signal
		wantEnd string
	}{
		{"sigint", syscall.SIGINT, "Ctrl-C"},
		{"sigterm", syscall.SIGTERM, "SIGTERM"},
		{"sighup", syscall.SIGHUP, "SIGHUP"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := shared.startRun(t, script("polite-"+tc.name, polite))
			c.await(c.stdout, "working")
			c.await(c.stderr, "pod Ready")
			c.signal(tc.signal)
			c.wait().check(t, 130, "working\nasked\ndone\n", `
+ pod sandbox ready, address ADDRESS
+ main started
+ pod Running
+ pod Ready
+ pod stop requested → grace 30s (`+tc.wantEnd+`)
+ main exited 5 (stopped)
+ pod Failed`)
		})
	}
}

// TestGraceEnds: a container that doesn't heed its stop signal is killed when
// the grace is over.
func TestGraceEnds(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("stubborn", `
restartPolicy: Always
terminationGracePeriodSeconds: 3
containers:
`+shell("main", stubborn)), "-o", "json")
	c.await(c.stdout, `working`)
	c.signal(syscall.SIGINT)
	asked := time.Now()
	got := c.wait()
	got.wantCode(t, 130)
	took := time.Since(asked)
	assert.True(t, took >= 3*time.Second, "killed after %v, before the grace of 3s was over", took)
	result := readStory(t, got.stdout)
	main := containerNamed(t, result.last(t), "main").State.Terminated
	assert.True(t, main != nil && main.ExitCode == 137, "main: %+v", main)
	assert.Deep(t, "phase", v1.PodFailed, result.last(t).Phase)
	out := result.output("main")
	assert.True(t, strings.Contains(out, "ignored"), "the stop signal was not sent: %q", out)
}

// TestSecondInterrupt: a second signal kills at once.
func TestSecondInterrupt(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("killed", `
restartPolicy: Never
terminationGracePeriodSeconds: 3600
containers:
`+shell("main", stubborn)))
	c.await(c.stdout, "working")
	c.await(c.stderr, "pod Ready")
	c.signal(syscall.SIGINT)
	c.await(c.stdout, "ignored")
	machine.Until(t, "a second signal, not taken for the first", func() bool {
		_ = c.process.Process.Signal(syscall.SIGINT) // it may have ended already
		return strings.Contains(c.stderr.text(), "Ctrl-C again")
	})
	c.wait().check(t, 130, "working\nignored\n", `
+ pod sandbox ready, address ADDRESS
+ main started
+ pod Running
+ pod Ready
+ pod stop requested → grace 1h0m0s (Ctrl-C)
+ pod stop requested → grace 0s (Ctrl-C again)
+ main exited 137 (stopped, killed at once)
+ pod Failed`)
}

// TestStopDuringBackOff: a pod that only waits ends at once.
func TestStopDuringBackOff(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("waits", "restartPolicy: Always\ncontainers:\n"+shell("main", "exit 1")))
	c.await(c.stderr, "restart in 9|restart in 10")
	c.signal(syscall.SIGINT)
	got := c.wait()
	assert.True(t, got.code == 130 && !strings.Contains(got.stderr, "2nd restart"), "exit code %d\n%s", got.code, got.stderr)
}

// TestStopSignalOfContainer: B-SIG-1, lifecycle.stopSignal is what a container
// is stopped with; it wants spec.os.name.
func TestStopSignalOfContainer(t *testing.T) {
	t.Parallel()
	spec := `
restartPolicy: Never
containers:
` + shell("main", `
trap 'echo told; exit 7' USR1
echo working
while true; do sleep 0.1; done`, "lifecycle: {stopSignal: SIGUSR1}")
	c := shared.startRun(t, pod("signal", "os: {name: linux}"+spec), "-o", "json")
	c.await(c.stdout, "working")
	c.await(c.stdout, `"ready":true`)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	main := containerNamed(t, result.last(t), "main")
	ended := main.State.Terminated
	assert.True(t, ended != nil && ended.ExitCode == 7 && main.StopSignal != nil && *main.StopSignal == v1.SIGUSR1, "main: %+v", main)
	refused := shared.run(t, pod("signal", strings.TrimPrefix(spec, "\n")))
	if refused.code != 125 || !strings.Contains(refused.stderr, "spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`") {
		t.Errorf("exit code %d, stderr %s", refused.code, refused.stderr)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	got := shared.run(t, script("late", "sleep infinity"), "--timeout", "3s") // wherever the pod is then
	assert.True(t, got.code == 124 && strings.Contains(got.stderr, " pod stop requested → grace 30s (--timeout 3s)\n"),
		"exit code %d, want 124\n%s", got.code, got.stderr)
}

// TestTimeoutUnused: a pod that ends in time isn't touched by --timeout.
func TestTimeoutUnused(t *testing.T) {
	t.Parallel()
	shared.run(t, script("soon", "exit 6"), "--timeout", "1h").wantCode(t, 6)
}

// TestActiveDeadline: activeDeadlineSeconds fails the pod.
func TestActiveDeadline(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("deadline", `
restartPolicy: Always
activeDeadlineSeconds: 3
containers:
`+shell("main", "sleep infinity")), "-o", "json")
	last := readStory(t, got.stdout).last(t)
	assert.True(t, got.code != 0, "exit code 0") // its own, if it has come as far as being ended
	assert.True(t, last.Phase == v1.PodFailed && last.Reason == "DeadlineExceeded" &&
		last.Message == "Pod was active on the node longer than the specified deadline", "%s %s: %s", last.Phase, last.Reason, last.Message)
}
