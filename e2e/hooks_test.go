package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestPostStart: A-HOOK-1: the hook runs beside the container's own process; the
// address and the state are there before it has ended, the container counts as
// started after it.
func TestPostStart(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("post-start", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "until [ -e /v/hook ]; do sleep 0.05; done\ntouch /v/main\nsleep 0.3", mountV, `
lifecycle:
  postStart:
    exec: {command: [sh, -c, "touch /v/hook; until [ -e /v/main ]; do sleep 0.05; done"]}`)))
	early := slices.ContainsFunc(result.statuses(), func(s v1.PodStatus) bool {
		c := containerNamed(t, s, "main")
		return s.PodIP != "" && c.State.Running != nil && !*c.Started && !c.Ready
	})
	assert.True(t, early, "no status shows the container running while its hook has not ended")
}

// TestPostStartFails: A-HOOK-1: the container is stopped; the event keeps back
// what the waiting reason says.
func TestPostStartFails(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("post-start-fails", `
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "trap 'exit 7' TERM\ntouch /v/up\nwhile true; do sleep 0.1; done", mountV, `
lifecycle:
  postStart:
    exec: {command: [sh, -c, "until [ -e /v/up ]; do sleep 0.05; done; echo token-42; exit 5"]}`)), "-o", "json")
	c.await(c.stdout, `"reason":"PostStartHookError"`)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	want := []string{"Warning FailedPostStartHook PostStartHook failed", "Normal Killing FailedPostStartHook"}
	assert.Deep(t, "events", want, result.events("main", "FailedPostStartHook", "Killing")[:2])
	var message string
	for _, s := range result.statuses() {
		main := containerNamed(t, s, "main")
		if w := main.State.Waiting; w != nil && w.Reason == "PostStartHookError" {
			message = w.Message
			last := main.LastTerminationState.Terminated
			assert.True(t, last != nil && last.ExitCode == 7, "last state %+v", last)
		}
	}
	wantMessage := `Exec lifecycle hook ([sh -c until [ -e /v/up ]; do sleep 0.05; done; echo token-42; exit 5]) for Container "main" in Pod "post-start-fails_default(UID)" failed - ` +
		`error: command 'sh -c until [ -e /v/up ]; do sleep 0.05; done; echo token-42; exit 5' exited with 5: , message: "token-42\n"`
	got := normal(message)
	assert.True(t, got == wantMessage, "waiting message\n%s\nwant\n%s", got, wantMessage)
}

// TestPreStop: B-HOOK-1, B-HOOK-5, A-HOOK-4: exec, httpGet and sleep come before
// the stop signal; a server without encryption is asked without.
func TestPreStop(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("pre-stop", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("exec", `
trap '[ -e /v/told ] && exit 4; exit 9' TERM
touch /v/up
while true; do sleep 0.1; done`, mountV, "lifecycle: {preStop: {exec: {command: [touch, /v/told]}}}", probe("startupProbe", "[ -e /v/up ]", "failureThreshold: 100"))+`
- {name: http, image: TOOLBOX, command: [serve, --port=8080], ports: [{name: web, containerPort: 8080}],
   readinessProbe: {httpGet: {port: web, path: /healthz}, timeoutSeconds: 20, periodSeconds: 1},
   lifecycle: {preStop: {httpGet: {port: web, path: /healthz, scheme: HTTPS}}}}
`+shell("sleep", "trap 'exit 6' TERM\necho working\nwhile true; do sleep 0.1; done", "lifecycle: {preStop: {sleep: {seconds: 1}}}")), "-o", "json")
	c.await(c.stdout, "working")
	c.await(c.stdout, `"subject":"pod","what":"Ready"`)
	c.signal(syscall.SIGINT)
	asked := time.Now()
	result := readStory(t, c.wait().stdout)
	took := time.Since(asked)
	assert.True(t, took >= time.Second, "ended after %v, before the sleep of 1s", took)
	for name, code := range map[string]int32{"exec": 4, "http": 143, "sleep": 6} {
		ended := containerNamed(t, result.last(t), name).State.Terminated
		assert.True(t, ended != nil && ended.ExitCode == code, "%s: %+v, want exit code %d", name, ended, code)
	}
	got := result.events("http", "LifecycleHTTPFallback", "FailedPreStopHook")
	want := "Warning LifecycleHTTPFallback request to HTTPS lifecycle hook ADDRESS:8080 got HTTP response, retry with HTTP succeeded"
	assert.True(t, len(got) == 1 && normal(got[0]) == want, "events %q, want %q", got, want)
}

// TestPreStopHangs: B-HOOK-2, B-HOOK-3: a hook that takes all the grace is left
// alone, the stop signal still comes before the kill, and no event tells of it.
func TestPreStopHangs(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("hangs", `
restartPolicy: Never
terminationGracePeriodSeconds: 2
containers:
`+shell("main", stubborn, `lifecycle: {preStop: {exec: {command: [sh, -c, "sleep infinity; true"]}}}`)), "-o", "json")
	c.await(c.stdout, "working")
	c.await(c.stdout, `"subject":"pod","what":"Ready"`)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	ended := containerNamed(t, result.last(t), "main").State.Terminated
	assert.True(t, ended != nil && ended.ExitCode == 137, "main: %+v", ended)
	out := result.output("main")
	assert.True(t, strings.Contains(out, "ignored"), "the stop signal was not sent: %q", out)
	assert.Empty(t, result.events("main", "FailedPreStopHook"), "events")
}

// TestPreStopFails: B-HOOK-4: the end goes on; the event keeps the details back.
func TestPreStopFails(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("pre-stop-fails", `
restartPolicy: Never
containers:
`+shell("main", "trap 'exit 7' TERM\necho working\nwhile true; do sleep 0.1; done", "lifecycle: {preStop: {tcpSocket: {port: 80}}}")), "-o", "json")
	c.await(c.stdout, "working")
	c.await(c.stdout, `"subject":"pod","what":"Ready"`)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	assert.Deep(t, "events", []string{"Warning FailedPreStopHook PreStopHook failed"}, result.events("main", "FailedPreStopHook"))
	ended := containerNamed(t, result.last(t), "main").State.Terminated
	assert.True(t, ended != nil && ended.ExitCode == 7, "main: %+v", ended)
}
