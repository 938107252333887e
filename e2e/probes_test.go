package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// probe is a container's field with an exec probe that runs a shell script. It
// has the time that a loaded machine needs, unless more, its further fields, say
// something else.
func probe(kind, text string, more ...string) string {
	fields := more
	for _, usual := range []string{"periodSeconds: 1", "timeoutSeconds: 20", "failureThreshold: 1"} {
		key, _, _ := strings.Cut(usual, " ")
		if !slices.ContainsFunc(more, func(field string) bool { return strings.HasPrefix(field, key) }) {
			fields = append(fields, usual)
		}
	}
	return fmt.Sprintf("%s:\n%s\n  exec:\n    command:\n    - sh\n    - -c\n    - |\n%s",
		kind, indent(strings.Join(fields, "\n"), 2), indent(text, 6))
}

// events are the Kubernetes events about a container with one of the reasons.
func (s story) events(container string, reasons ...string) []string {
	var all []string
	for _, o := range s {
		if o.Type == "event" && strings.HasSuffix(o.Subject, "{"+container+"}") && slices.Contains(reasons, o.Reason) {
			all = append(all, o.What+" "+o.Reason+" "+o.Message)
		}
	}
	return all
}

// ready are the values that the pod's condition Ready had, in order.
func (s story) ready() []v1.ConditionStatus {
	var all []v1.ConditionStatus
	for _, status := range s.statuses() {
		for _, c := range status.Conditions {
			if c.Type == v1.PodReady {
				all = append(all, c.Status)
			}
		}
	}
	return slices.Compact(all)
}

// TestStartupProbeGates: A-PROBE-6, A-INIT-4: what comes after a sidecar with a
// startup probe waits for it.
func TestStartupProbeGates(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("gates", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("first", `
until [ -e /v/asked ]; do sleep 0.05; done
touch /v/up
exec sleep --on-term=0 infinity`, mountV, "restartPolicy: Always",
		probe("startupProbe", "[ -e /v/asked ] && [ -e /v/up ] || { touch /v/asked; echo not yet; exit 1; }", "failureThreshold: 100"))+`
containers:
`+shell("main", "[ -e /v/up ]", mountV)))
	got := result.events("first", "Unhealthy")
	assert.True(t, len(got) != 0 && got[0] == "Warning Unhealthy Startup probe failed: not yet\n", "events %q", got)
	for _, s := range result.statuses() {
		if main := containerNamed(t, s, "main"); main.State.Waiting == nil && !*containerNamed(t, s, "first").Started {
			assert.True(t, main.State.Running == nil, "main runs before first has started up")
		}
	}
}

// TestLivenessProbeRestarts: A-PROBE-8, A-PROBE-14, B-PRB-3: a container whose
// liveness probe fails is stopped, and started again as its policy says.
func TestLivenessProbeRestarts(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("liveness", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", `
[ -e /v/first ] && exit 0
trap 'exit 3' TERM
touch /v/first
while true; do sleep 0.1; done`, mountV,
		probe("livenessProbe", `
[ -e /v/first ] && [ ! -e /v/2 ] || exit 0
[ -e /v/1 ] && touch /v/2
touch /v/1
echo bad
exit 1`, "failureThreshold: 2"))))
	want := []string{
		"Warning Unhealthy Liveness probe failed: bad\n",
		"Warning Unhealthy Liveness probe failed: bad\n",
		"Normal Killing Container main failed liveness probe, will be restarted",
	}
	got := result.events("main", "Unhealthy", "Killing") // and maybe one of a probe that found the second instance ended
	assert.Deep(t, "events", want, got[:min(3, len(got))])
	main := containerNamed(t, result.last(t), "main")
	last := main.LastTerminationState.Terminated
	assert.True(t, main.RestartCount == 1 && last != nil && last.ExitCode == 3, "main: %+v", main)
}

// TestProbeGrace: A-PROBE-14, B-SIG-2: a probe's own grace, here far shorter than
// the pod's, also in a pod that ends with this container.
func TestProbeGrace(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 137, pod("probe-grace", `
restartPolicy: Never
terminationGracePeriodSeconds: 3600
containers:
`+shell("main", stubborn, probe("livenessProbe", "exit 1", "initialDelaySeconds: 1", "terminationGracePeriodSeconds: 1"))))
	out := result.output("main")
	assert.True(t, strings.Contains(out, "ignored"), "the stop signal was not sent: %q", out)
}

// TestReadinessProbe: A-PROBE-6: readiness follows the probe.
func TestReadinessProbe(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("readiness", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "until [ -e /v/4 ]; do sleep 0.1; done", mountV, probe("readinessProbe", `
for n in 1 2 3 4; do
  [ -e /v/$n ] || break
done
touch /v/$n
[ $n = 2 ]`))))
	assert.Deep(t, "Ready", []v1.ConditionStatus{"False", "True", "False"}, result.ready())
}

// TestExecProbeTimeout: A-PROBE-13: an exec probe that times out leaves no
// process, neither of a command that hangs, nor of one that has ended and left
// another with its output, nor of one that has become another program. The
// runtime alone kills only the command itself. The command that has ended has
// succeeded.
func TestExecProbeTimeout(t *testing.T) {
	t.Parallel()
	sleeps := fmt.Sprintf("sleep %d", 1_000_000+os.Getpid())
	c := shared.startRun(t, pod("timeout", `
containers:
`+shell("main", "exec sleep infinity",
		probe("livenessProbe", sleeps+" & "+sleeps+"; true", "timeoutSeconds: 1", "failureThreshold: 9"),
		probe("readinessProbe", sleeps+" & sleep 0.1; exec true", "timeoutSeconds: 1", "periodSeconds: 60"))+
		shell("other", "exec sleep infinity",
			probe("readinessProbe", sleeps+" & exec "+sleeps, "timeoutSeconds: 1", "periodSeconds: 60"))), "-o", "json")
	for _, probe := range []string{
		"{main}.*Liveness probe failed: command timed out", "{other}.*Readiness probe failed: command timed out",
	} {
		c.await(c.stdout, probe+`: \\"sh -c .*`+sleeps+`.*\\" timed out after 1s`)
	}
	c.await(c.stdout, "{main}.*ProbeWarning.*Readiness probe warning: the command has ended, but a process that it left held its output open for 1s")
	c.await(c.stdout, `"subject":"main","what":"ready"`)
	// the liveness probe may be at its next attempt, but never at two
	left := processesOf(sleeps)
	assert.True(t, len(left) <= 2, "%d processes are left: %v", len(left), left)
	c.signal(syscall.SIGINT)
	c.wait()
}

// processesOf are the processes with that command line.
func processesOf(command string) (pids []int) {
	for _, pid := range machine.AllProcesses() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.TrimRight(strings.ReplaceAll(string(line), "\x00", " "), " ") == command {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestProbeHandlers: A-PROBE-9..12: httpGet by a port's name, tcpSocket and grpc
// of a container; a redirect that leaves the host is a success with a remark.
func TestProbeHandlers(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.RedirectHandler("http://elsewhere.example/", http.StatusFound))
	defer away.Close()
	_, port, _ := strings.Cut(away.Listener.Addr().String(), ":")
	c := shared.startRun(t, pod("handlers", `
containers:
- name: web
  image: TOOLBOX
  command: [serve, --port=8080]
  ports: [{name: http, containerPort: 8080}]
  startupProbe: {httpGet: {port: http, path: /healthz}, timeoutSeconds: 20, periodSeconds: 1}
  livenessProbe: {tcpSocket: {port: 8080}, timeoutSeconds: 20}
  readinessProbe: {httpGet: {host: 127.0.0.1, port: `+port+`}, timeoutSeconds: 20}
- name: rpc
  image: TOOLBOX
  command: [grpc-health, --port=5000, --service=shop]
  startupProbe: {grpc: {port: 5000}, timeoutSeconds: 20}
  readinessProbe: {grpc: {port: 5000, service: nothing}, timeoutSeconds: 20}
- name: shop
  image: TOOLBOX
  command: [sleep, infinity]
  readinessProbe: {grpc: {port: 5000, service: shop}, timeoutSeconds: 20, periodSeconds: 1}`), "-o", "json")
	c.await(c.stdout, "web .*ready|ready.*web")
	c.await(c.stdout, `"ProbeWarning"`)
	c.await(c.stdout, `rpc error: code = NotFound`)
	c.await(c.stdout, `"subject":"shop","what":"ready"`)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	got := result.events("web", "ProbeWarning")
	assert.True(t, len(got) != 0 &&
		got[0] == "Warning ProbeWarning Readiness probe warning: Probe terminated redirects, Response body: <a href=\"http://elsewhere.example/\">Found</a>.\n\n", "events of web %q", got)
	if got := result.events("rpc", "Unhealthy"); !slices.Contains(got, "Warning Unhealthy Readiness probe failed: error: health rpc probe failed: rpc error: code = NotFound desc = unknown service") {
		t.Errorf("events of rpc %q", got)
	}
}

// TestProbesWhileTerminating: B-PRB-1, B-PRB-2: readiness is probed until the
// end, liveness isn't any more.
func TestProbesWhileTerminating(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("leaving", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", `
trap 'touch /v/down
until [ -e /v/2 ]; do sleep 0.05; done
[ ! -e /v/checked ] || exit 9
exit 4' TERM
while true; do sleep 0.1; done`, mountV,
		probe("readinessProbe", "[ ! -e /v/down ] || { [ -e /v/1 ] && touch /v/2; touch /v/1; exit 1; }"),
		probe("livenessProbe", "[ ! -e /v/down ] || { [ -e /v/once ] && touch /v/checked; touch /v/once; exit 1; }"))), "-o", "json")
	c.await(c.stdout, `"type":"Ready","observedGeneration":1,"status":"True"|"type":"Ready","status":"True"`)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	main := containerNamed(t, result.last(t), "main").State.Terminated
	assert.True(t, main != nil && main.ExitCode == 4, "main: %+v", main)
	unready := slices.ContainsFunc(result.statuses(), func(s v1.PodStatus) bool {
		c := containerNamed(t, s, "main")
		return c.State.Running != nil && *c.Started && !c.Ready && len(result.events("main", "Unhealthy")) > 0
	})
	assert.True(t, unready, "the pod was ready until its end")
}

// TestStarvedLifepod: a probe whose end lifepod could not notice in time, here
// because it was stopped for longer than the probe's timeout, is not counted.
func TestStarvedLifepod(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("starved", `
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "trap 'exit 0' TERM\nuntil [ -e /v/begun ]; do sleep 0.05; done\necho begun\nuntil [ -e /v/again ]; do sleep 0.05; done\necho again\nwhile true; do sleep 0.1; done", mountV,
		probe("livenessProbe", "[ -e /v/begun ] && { touch /v/again; exit 0; }\ntouch /v/begun\nsleep 1000", "timeoutSeconds: 4"))), "-o", "json")
	c.await(c.stdout, `"text":"begun`)
	c.signal(syscall.SIGSTOP)
	time.Sleep(7 * time.Second) // the timeout comes and goes
	c.signal(syscall.SIGCONT)
	c.await(c.stdout, `"text":"again`)
	c.signal(syscall.SIGINT)
	result := readStory(t, c.wait().stdout)
	got := result.events("main", "Killing")
	assert.True(t, len(got) == 1 && got[0] == "Normal Killing Stopping container main", "events %q", got)
	main := containerNamed(t, result.last(t), "main")
	assert.True(t, main.RestartCount == 0, "main: %+v", main)
}
