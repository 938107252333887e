package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// waiter ends as soon as it is asked to.
const waiter = `
trap 'exit 0' TERM
while true; do sleep 0.1; done`

// startReady starts a pod and waits until it is ready.
func (r *root) startReady(t *testing.T, manifest string) *command {
	t.Helper()
	c := r.startRun(t, manifest)
	c.await(c.stderr, "pod Ready")
	return c
}

// podNow is the v1.Pod of a pod that another lifepod runs.
func (r *root) podNow(t *testing.T, name string) *v1.Pod {
	t.Helper()
	got := r.lifepod(t, "", "status", name, "-o", "yaml")
	pod := &v1.Pod{}
	err := yaml.UnmarshalStrict([]byte(got.stdout), pod)
	assert.Require(t, err == nil && got.code == 0, "status %s: exit code %d, %v\n%s%s", name, got.code, err, got.stdout, got.stderr)
	return pod
}

// row is a pod's line of lifepod ps, its columns one space apart.
func (r *root) row(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(r.lifepod(t, "", "ps").stdout) {
		if fields := strings.Fields(line); fields[1] == name {
			return strings.Join(fields, " ")
		}
	}
	return ""
}

func TestPsAndStatus(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("seen", `
containers:
`+shell("main", waiter)))
	if got := shared.row(t, "seen"); !regexp.MustCompile(`^default seen 1/1 Running 0 \d+s 10\.\d+\.\d+\.\d+$`).MatchString(got) {
		t.Errorf("ps: %q", got)
	}
	seen := shared.podNow(t, "seen")
	assert.True(t, seen.Kind == "Pod" && *seen.Spec.TerminationGracePeriodSeconds == 30 && seen.Status.Phase == v1.PodRunning &&
		seen.Status.ContainerStatuses[0].State.Running != nil && seen.Status.ObservedGeneration == seen.Generation, "status -o yaml: %+v", seen)
	got := shared.lifepod(t, "", "status", "default/seen")
	for _, want := range []string{"default/seen  Running", "address " + seen.Status.PodIP, "Ready +True", "main +ready +0 restarts +running for", "Normal +Started +main +Container started"} {
		assert.True(t, regexp.MustCompile(want).MatchString(got.stdout) && got.code == 0, "status lacks %q: exit code %d\n%s", want, got.code, got.stdout)
	}
	shared.lifepod(t, "", "stop", string(seen.UID)).wantCode(t, 0)
	got = c.wait()
	assert.True(t, got.code == 130 && strings.Contains(got.stderr, "(lifepod stop)"), "lifepod run: exit code %d\n%s", got.code, got.stderr)
	for _, tc := range [][2]string{
		{"ps -a", `default +seen +0/1 +Completed +0 +\S+ +Succeeded +0 +\S+ ago`},
		{"status " + string(seen.UID), `main +not ready +0 restarts +exited 0 Completed, `},
		{"status default/seen -o yaml", "phase: Succeeded"},
		{"stop seen", "pod default/seen has ended: "},
		{"rm seen", "^$"},
		{"logs seen", `no pod "seen"`},
	} {
		if got := shared.lifepod(t, "", strings.Fields(tc[0])...); !regexp.MustCompile(tc[1]).MatchString(got.stdout + got.stderr) {
			t.Errorf("%s lacks %q: exit code %d\n%s%s", tc[0], tc[1], got.code, got.stdout, got.stderr)
		}
	}
}

// TestStopShortened: a grace is shortened at any moment, which takes effect at
// once (B-WRK-8, B-WRK-9); stop waits until the pod is gone.
func TestStopShortened(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("stubborn-stop", `
terminationGracePeriodSeconds: 3600
containers:
`+shell("main", stubborn)))
	c.await(c.stdout, "working")
	if got := shared.lifepod(t, "", "stop", "--no-wait", "stubborn-stop"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	c.await(c.stdout, "ignored")
	got := shared.row(t, "stubborn-stop")
	assert.True(t, strings.Contains(got, " Terminating "), "ps: %q", got)
	if got := shared.podNow(t, "stubborn-stop"); got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != 3600 || got.Generation != 2 {
		t.Errorf("metadata: %+v", got.ObjectMeta)
	}
	first := shared.start(t, "", "stop", "stubborn-stop", "--grace", "30m")
	second := shared.lifepod(t, "", "stop", "stubborn-stop", "--grace", "2")
	assert.True(t, second.code == 0 && shared.row(t, "stubborn-stop") == "", "stop --grace 2: %+v, ps: %q", second, shared.row(t, "stubborn-stop"))
	first.wait().wantCode(t, 0)
	if got := c.wait(); !strings.Contains(got.stderr, "main exited 137 (stopped, killed when its grace ran out)") {
		t.Error(got.stderr)
	}
}

// TestStopForce kills at once, also what is given an hour already, and also while
// an init container runs.
func TestStopForce(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("forced", `
terminationGracePeriodSeconds: 3600
initContainers:
`+shell("init", stubborn)+`
containers:
`+shell("main", waiter)))
	c.await(c.stdout, "working")
	got := shared.row(t, "forced")
	assert.True(t, strings.HasPrefix(got, "default forced 0/1 Init:0/1 0 "), "ps: %q", got)
	shared.lifepod(t, "", "stop", "--no-wait", "forced")
	c.await(c.stdout, "ignored")
	shared.lifepod(t, "", "stop", "--force", "forced").wantCode(t, 0)
	if got := c.wait(); strings.Contains(got.stderr, "main started") || !strings.Contains(got.stderr, "init exited 137") {
		t.Error(got.stderr)
	}
}

// TestControlBadInput: each mistake is one line that says what is wrong, and
// nothing happens.
func TestControlBadInput(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("bad-input", `
initContainers:
`+shell("prep", "true")+`
containers:
`+shell("main", waiter)+shell("other", waiter)))
	for line, want := range map[string]string{
		"status nope":                             `no pod "nope": there is .*default/bad-input.*`,
		"status -n blue bad-input":                `no pod "bad-input" in namespace "blue": there is .*`,
		"status -n blue default/bad-input":        `pod default/bad-input is not in namespace "blue": leave -n out`,
		"status bad-input -o xml":                 `unknown output "xml": want yaml, json, jsonpath=… or go-template=…`,
		"stop bad-input --grace soon":             `--grace "soon": want a time such as 30s, 5m, 1h30m, or 30 \(seconds\)`,
		"stop bad-input --grace=-1s":              `--grace "-1s": want a time .*`,
		"stop bad-input --grace 1s --force":       `--grace and --force exclude each other: .*`,
		"logs bad-input -c nope":                  `pod bad-input has no container "nope": it has main, other, prep`,
		"logs bad-input -c main -p":               `previous terminated container "main" in pod "bad-input" not found`,
		"logs bad-input -f -p":                    `-f and --previous exclude each other: .*`,
		"logs bad-input -c main --all-containers": `-c and --all-containers exclude each other`,
		"logs bad-input --tail -1":                `--tail -1: want 0 or more`,
		"logs bad-input --since 0s":               `--since 0s: want a duration above 0, such as 5m`,
		"exec bad-input":                          `want a pod and a command: .*`,
		"exec":                                    `want a pod: .*`,
		"exec bad-input -c prep ls -c":            `container prep is not running: it has exited with code 0`,
		"exec bad-input -c nope -- ls":            `pod bad-input has no container "nope": it has main, other, prep`,
		"exec bad-input -c prep -- ls":            `container prep is not running: it has exited with code 0`,
		"attach bad-input -c main -i":             `container main has no standard input: its spec does not say stdin: true`,
		"restart bad-input":                       `which container\? -c main, -c other, or --all`,
		"restart bad-input -c prep":               `container prep cannot be restarted by itself: .*`,
		"restart bad-input -c main --graceful":    `--graceful is for --all: .*`,
		"debug bad-input":                         `--image is missing: .*`,
		"debug bad-input --image i --target nope": `spec.ephemeralContainers\[0\].targetContainerName: Not found: "nope"`,
		"debug bad-input --image i --name main":   `spec.ephemeralContainers\[0\].name: Duplicate value: "main"`,
		"resize bad-input -c main":                `nothing to change: want --cpu, --memory or --requests`,
		"resize bad-input --cpu 1":                `which container\? -c main, -c other`,
		"resize bad-input -c main --cpu lots":     `--cpu lots: want a quantity above 0, .*`,
		"condition bad-input Ready=True":          `condition Ready is lifepod's own and cannot be set`,
		"condition bad-input a.b/c=yes":           `condition "a.b/c=yes": want TYPE=True, TYPE=False or TYPE=Unknown, .*`,
	} {
		got := shared.lifepod(t, "", strings.Fields(line)...)
		assert.True(t, got.code == 125 && regexp.MustCompile("^lifepod: "+want+"\n$").MatchString(got.stderr) && got.stdout == "",
			"lifepod %s: exit code %d, %q%q, want 125 and %q", line, got.code, got.stdout, got.stderr, want)
	}
	got := shared.podNow(t, "bad-input")
	assert.True(t, got.Generation == 1 && got.DeletionTimestamp == nil, "the pod has changed: %+v", got.ObjectMeta)
	c.signal(syscall.SIGINT)
	if got := c.wait().stderr; strings.Contains(got, "restart requested") || strings.Contains(got, "lifepod stop") {
		t.Error(got)
	}
}

// TestSeveralPods: pods of one name in two namespaces, and one whose lifepod was
// killed, which is no pod any more.
func TestSeveralPods(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	inBlue := strings.Replace(pod("same", "containers:\n"+shell("main", waiter)), "name: same", "name: same\n  namespace: blue", 1)
	blue, other := r.startReady(t, inBlue), r.startReady(t, pod("same", "containers:\n"+shell("main", waiter)))
	if got := r.lifepod(t, "", "status", "same"); got.code != 125 || got.stderr != "lifepod: pod \"same\" is ambiguous: blue/same, default/same; name it so, or with -n\n" {
		t.Errorf("%+v", got)
	}
	got := r.lifepod(t, "", "ps", "-n", "blue").stdout
	assert.True(t, strings.Count(got, "\n") == 2, "ps -n blue:\n%s", got)
	r.lifepod(t, "", "stop", "-n", "blue", "same").wantCode(t, 0)
	blue.wait()
	other.signal(syscall.SIGKILL)
	other.wait()
	if got := r.lifepod(t, "", "ps"); got.code != 0 || !strings.Contains(got.stdout, "Unattended") || !strings.HasPrefix(got.stderr, "warning: pod default/same is unattended: its lifepod run was killed: ") {
		t.Errorf("ps after a kill: %+v", got)
	}
	left, err := filepath.Glob(r.runDir() + "/pods/*")
	assert.True(t, err == nil && len(left) == 0, "sockets of the dead: %v, %v", left, err)
	r.lifepod(t, "", "stop", "same")
}

// TestStopOfKilledLifepod: stop does not wait for ever for a pod whose lifepod is
// killed meanwhile.
func TestStopOfKilledLifepod(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	c := r.startReady(t, pod("orphan", "terminationGracePeriodSeconds: 3600\ncontainers:\n"+shell("main", stubborn)))
	c.await(c.stdout, "working")
	stop := r.start(t, "", "stop", "orphan")
	c.await(c.stdout, "ignored")
	c.signal(syscall.SIGKILL)
	got := stop.wait()
	assert.True(t, got.code == 123 && strings.Contains(got.stderr, "the connection was lost before the end of pod default/orphan"), "%+v", got)
	r.lifepod(t, "", "stop", "orphan", "--force")
}

// TestStreamsOnLoopback: the runtime's streaming server, through which exec and
// attach go, is open to this machine only.
func TestStreamsOnLoopback(t *testing.T) {
	t.Parallel()
	c := shared.startReady(t, pod("streams", "containers:\n"+shell("main", waiter)))
	defer c.signal(syscall.SIGINT)
	listening := 0
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // no IPv6
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			const listen = "0A"
			if fields[3] != listen || !shared.holdsSocket(fields[9]) {
				continue
			}
			listening++
			assert.True(t, strings.HasPrefix(fields[1], "0100007F:"), "a process of lifepod's listens at %s", fields[1])
		}
	}
	assert.True(t, listening != 0, "no streaming server was found")
}

// holdsSocket says whether the root's containerd has a socket.
func (r *root) holdsSocket(inode string) bool {
	for _, pid := range machine.AllProcesses() {
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if !strings.HasPrefix(exe, r.dir+"/") || filepath.Base(exe) != "containerd" {
			continue
		}
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); to == "socket:["+inode+"]" {
				return true
			}
		}
	}
	return false
}
