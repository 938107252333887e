package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// goesOn is what a lifepod says that takes over the pod of one that was killed.
const goesOn = `resumes where it was \(its lifepod had ended\)`

// kill9 is the end of a lifepod that can't do anything about it.
func (c *command) kill9() result {
	c.t.Helper()
	c.signal(syscall.SIGKILL)
	return c.wait()
}

// resume starts another lifepod with the same manifest, which must go on.
func (r *root) resume(t *testing.T, manifest string, args ...string) *command {
	t.Helper()
	c := r.startRun(t, manifest, args...)
	c.await(c.stderr, goesOn)
	return c
}

// TestResume: the same manifest goes on with the pod of a lifepod that was
// killed: the process, its volume and its UID stay, init containers don't run
// again, output is shown to the line where it was (B-RST-1, B-RST-5, B-RST-6).
func TestResume(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := pod("web", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("init", "echo init $HOSTNAME; echo from init > /v/init", mountV)+`
containers:
`+shell("main", `
cat /v/init
n=0
while [ ! -e /v/end ]; do n=$((n+1)); echo count $n; sleep 0.02; done
echo "end of $n"`, mountV)+shell("ender", `
until [ -e /v/late ]; do sleep 0.1; done
touch /v/end`, mountV))
	first := r.startRun(t, manifest)
	first.await(first.stdout, "count 20$")
	before := first.kill9()
	second := r.resume(t, manifest)
	second.await(second.stdout, "main . count")
	r.exec(t, "web", "ender", "touch", "/v/late")
	after := second.wait()
	assert.True(t, after.code == 0 && strings.Contains(after.stderr, "pod Succeeded"), "exit code %d\n%s", after.code, after.stderr)
	n := strings.Count(after.stderr, " started")
	assert.True(t, n == 0, "%d containers were started again:\n%s", n, after.stderr)
	checkCounts(t, before.stdout+after.stdout)
}

// exec runs a command in a container from another terminal.
func (r *root) exec(t *testing.T, podName, container string, command ...string) {
	t.Helper()
	args := append([]string{"exec", podName, "-c", container, "--"}, command...)
	got := r.lifepod(t, "", args...)
	assert.Require(t, got.code == 0, "exec: exit code %d: %s", got.code, got.stderr)
}

// checkCounts demands the lines of TestResume without a gap; the few that were
// written in the moment of the kill may be there twice.
func checkCounts(t *testing.T, text string) {
	t.Helper()
	assert.Deep(t, "how often the init container is shown", 1, strings.Count(text, "init | init "))
	last, again := 0, 0
	for _, found := range regexp.MustCompile(`(?m)^main \| count (\d+)$`).FindAllStringSubmatch(text, -1) {
		n := assert.Get(strconv.Atoi(found[1])).Must(t)
		assert.True(t, n <= last+1, "after line %d comes line %d", last, n)
		if n <= last {
			again++
		}
		last = max(last, n)
	}
	want := fmt.Sprintf("main | end of %d\n", last)
	assert.True(t, again <= 5 && strings.Contains(text, want), "%d lines are there again; want %q in\n%s", again, want, tail(text))
}

// TestResumeNot: another manifest of that name is another pod, which is refused as
// long as the first is there; --new ends that one first, as it would have ended.
func TestResumeNot(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	dir := t.TempDir()
	sleeper := pod("p", `
restartPolicy: Never
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", "trap 'echo bye > /v/last; exit 0' TERM; echo up; while true; do sleep 0.05; done", mountV))
	c := r.startRun(t, sleeper)
	c.await(c.stderr, "pod Ready")
	c.await(c.stdout, "up")
	c.kill9()
	for name, args := range map[string][]string{"changed": nil, "port": {"-p", "127.0.0.1:18765:80"}} {
		manifest := sleeper
		if name == "changed" {
			manifest = script("p", "exit 4")
		}
		got := r.run(t, manifest, args...)
		want := "lifepod: pod default/p exists already, with another spec: its lifepod run was killed"
		assert.True(t, got.code == 125 && strings.Contains(got.stderr, want), "%s: exit code %d\n%s", name, got.code, got.stderr)
	}
	last, err := os.ReadFile(filepath.Join(dir, "last"))
	assert.True(t, err != nil, "the pod has ended: %s", last)
	got := r.run(t, script("p", "exit 4"), "--new")
	assert.True(t, got.code == 4 && !strings.Contains(got.stderr, "goes on"), "--new: exit code %d\n%s", got.code, got.stderr)
	last, err = os.ReadFile(filepath.Join(dir, "last"))
	assert.True(t, err == nil && string(last) == "bye\n", "the pod before did not end gracefully: %q, %v", last, err)
}

// TestSameName: a second pod of a name is refused while the first runs.
func TestSameName(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := script("twin", "echo up; sleep 1000")
	c := r.startRun(t, manifest)
	c.await(c.stdout, "up")
	got := r.run(t, manifest)
	want := "lifepod: pod default/twin exists already, the lifepod run with PID "
	assert.True(t, got.code == 125 && strings.HasPrefix(got.stderr, want), "exit code %d\n%s", got.code, got.stderr)
	r.run(t, script("twin", "exit 5"), "--name", "other").wantCode(t, 5)
	c.signal(syscall.SIGINT)
	c.wait()
}

// TestUnattended: what the commands say of a pod whose lifepod was killed, and that
// others leave it alone.
func TestUnattended(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := pod("train", `
restartPolicy: Never
terminationGracePeriodSeconds: 5
containers:
`+shell("main", "trap 'exit 0' TERM; n=0; while true; do n=$((n+1)); echo step $n; sleep 0.05; done"))
	c := r.startRun(t, manifest)
	c.await(c.stdout, "step 3")
	c.kill9()
	advice := "its lifepod run was killed: run the same manifests again to resume it, or `lifepod --root " + r.dir + " stop default/train` to end it"
	if got := r.lifepod(t, "", "ps"); !strings.Contains(got.stdout, " Unattended ") || got.stderr != "warning: pod default/train is unattended: "+advice+"\n" {
		t.Errorf("ps: %s%s", got.stdout, got.stderr)
	}
	got := r.lifepod(t, "", "status", "train")
	assert.True(t, strings.HasPrefix(got.stdout, "default/train  Running, Unattended: "+advice), "status: %s%s", got.stdout, got.stderr)
	got = r.lifepod(t, "", "exec", "train", "--", "true")
	assert.True(t, got.code == 125 && got.stderr == "lifepod: pod default/train is unattended: "+advice+"\n", "exec: %+v", got)
	if got := r.lifepod(t, "", "doctor"); !strings.Contains(got.stdout, "→ default/train: "+advice) || !strings.Contains(got.stdout, "leftovers            none below") {
		t.Errorf("doctor: %s", got.stdout)
	}
	r.run(t, script("stranger", "exit 4")).wantCode(t, 4)
	lines := func() int { return strings.Count(r.lifepod(t, "", "logs", "train").stdout, "step ") }
	before := lines()
	machine.Until(t, "more of its output, after the stranger", func() bool { return lines() > before })
	again := r.resume(t, manifest)
	again.kill9()
	got = r.lifepod(t, "", "stop", "train")
	assert.True(t, got.code == 0 && got.stderr == "", "stop: %+v", got)
	got = r.lifepod(t, "", "ps")
	assert.True(t, got.stderr == "no pod runs\n", "ps after stop: %+v", got)
	for _, left := range r.left() {
		t.Errorf("left behind: %s", left)
	}
}

// TestDamagedCheckpoint: a checkpoint that can't be read stops nothing. It is said, what the killed lifepod left is
// removed, and the pod begins anew (B-RST-18).
func TestDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := script("p", "echo working; sleep 1000")
	c := r.startRun(t, manifest)
	c.await(c.stderr, "pod Ready")
	c.kill9()
	files, err := filepath.Glob(filepath.Join(r.dir, "runs/*.checkpoint"))
	assert.Require(t, err == nil && len(files) == 1, "checkpoints: %q, %v", files, err)
	assert.Must(t, os.WriteFile(files[0], []byte("spoilt"), 0o600))
	again := r.startRun(t, manifest)
	again.await(again.stdout, "working")
	again.signal(syscall.SIGQUIT) // which kills
	got := again.wait()
	const want = "warning: can't go on with pod default/p, whose lifepod run was killed; it begins anew: read checkpoint: the file is damaged\n"
	assert.True(t, got.code == 130 && strings.Contains(got.stderr, want), "exit code %d\n%s", got.code, got.stderr)
}

// TestResumeChangedObjects: a ConfigMap that has changed is not another pod; its
// files are updated in the one that runs (A-VOL-5).
func TestResumeChangedObjects(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := func(text string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {text: " + text + "}\n---\n" + pod("web", `
restartPolicy: Never
volumes: [{name: v, configMap: {name: c}}]
containers:
`+shell("main", "echo $(cat /v/text); until [ $(cat /v/text) = two ]; do sleep 0.05; done; echo now two; exit 4", mountV))
	}
	c := r.startRun(t, manifest("one"))
	c.await(c.stdout, "one")
	c.kill9()
	got := r.resume(t, manifest("two")).wait()
	if got.code != 4 || strings.TrimPrefix(got.stdout, "one\n") != "now two\n" { // a line of the moment of the kill may come twice
		t.Errorf("exit code %d: %q\n%s", got.code, got.stdout, got.stderr)
	}
}

// TestResumeExit: what happens while nobody looks, and while containerd is dead
// as well, counts once, with its exit code (B-RST-4, B-RST-15, B-RST-16).
func TestResumeExit(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	dir := t.TempDir()
	manifest := pod("web", `
restartPolicy: OnFailure
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", `
if [ -e /v/crashed ]; then echo second; exit 0; fi
echo first
until [ -e /v/crash ]; do sleep 0.05; done
touch /v/crashed
exit 3`, mountV)+shell("healthy", "echo $$; until [ -e /v/end ]; do sleep 0.05; done", mountV))
	c := r.startRun(t, manifest)
	c.await(c.stderr, "pod Ready")
	c.kill9()
	r.kill(t, r.containerd(t)+" ")
	writeFile(t, dir+"/crash")
	awaitFile(t, dir+"/crashed")
	next := r.startRun(t, manifest, "-o", "json")
	next.await(next.stdout, `"second\\n"`)
	writeFile(t, dir+"/end") // the other one ends while somebody looks
	got := next.wait()
	assert.Require(t, got.code == 0, "exit code %d\n%s\n%s", got.code, tail(got.stdout), got.stderr)
	status := readStory(t, got.stdout).last(t)
	main, healthy := containerNamed(t, status, "main"), containerNamed(t, status, "healthy")
	assert.True(t, main.RestartCount == 1 && healthy.RestartCount == 0 && status.Phase == v1.PodSucceeded,
		"phase %s, main %+v, healthy %+v", status.Phase, main, healthy)
	e := main.LastTerminationState.Terminated
	assert.True(t, e != nil && e.ExitCode == 3, "main's first exit: %+v", e)
}

// TestResumeTermination: what is left of the grace, not the whole again (B-WRK-10).
func TestResumeTermination(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := pod("web", `
terminationGracePeriodSeconds: 20
containers:
`+shell("main", stubborn))
	c := r.startRun(t, manifest)
	c.await(c.stdout, "working")
	c.signal(syscall.SIGTERM)
	c.await(c.stdout, "ignored")
	asked := time.Now()
	c.kill9()
	machine.Until(t, "two seconds of the grace", func() bool { return time.Since(asked) > 2*time.Second })
	next := r.resume(t, manifest, "--log-level", "debug")
	found := next.await(next.stderr, `StopContainer.*TimeoutSeconds:\d+`)
	seconds, err := strconv.Atoi(found[strings.LastIndex(found, ":")+1:])
	assert.True(t, err == nil && seconds <= 18, "the rest of the grace is %d s (%v), want at most 18 of the 20", seconds, err)
	next.signal(syscall.SIGINT)
	machine.Until(t, "another signal", func() bool { return time.Since(asked) > 3*time.Second })
	next.signal(syscall.SIGINT)
	next.wait().wantCode(t, 130)
}

// TestResumePull: a kill during a pull; the image is pulled all the same.
func TestResumePull(t *testing.T) {
	t.Parallel()
	r, reg := newRoot(t), newRegistry(t, "")
	image := reg.push(t, "slow", "pulled")
	release := reg.holdBack()
	defer release()
	manifest := imagePod(image, "Always")
	c := r.startRun(t, manifest)
	<-reg.held
	c.kill9()
	next := r.resume(t, manifest)
	release()
	next.wait().want(t, 0, "pulled\n")
}

// TestResumeBackOff: what is left of a back-off, in the same count.
func TestResumeBackOff(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := pod("web", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "echo try >> /v/tries; [ $(wc -l < /v/tries) -ge 3 ]", mountV))
	c := r.startRun(t, manifest)
	c.await(c.stderr, `restart in \S+s`)
	c.kill9()
	got := r.resume(t, manifest).wait()
	assert.True(t, got.code == 0 && strings.Contains(got.stderr, "main started (2nd restart)") && !strings.Contains(got.stderr, "1st restart"),
		"exit code %d\n%s", got.code, got.stderr)
}

// TestResumeRestartAll: a kill in the middle of an in-place restart of all
// containers finishes the same restart, not another (B-RAC-23).
func TestResumeRestartAll(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	manifest := pod("web", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("init", "echo init >> /v/inits; wc -l < /v/inits", mountV)+shell("proxy", "echo proxy; exec sleep 1000", "restartPolicy: Always")+`
containers:
`+shell("main", again(await("other")+"touch /v/again; exit 42", "exit 0"), mountV, ruleAll)+shell("other", again("touch /v/other; exec sleep 1000", "exit 0"), mountV))
	for _, when := range []string{"main exited 42", "pod is reset", "init started .1st restart"} {
		c := r.startRun(t, manifest)
		c.await(c.stderr, when)
		c.kill9()
		got := r.run(t, manifest, "-o", "json")
		assert.Require(t, got.code == 0, "after a kill at %q: exit code %d\n%s", when, got.code, tail(got.stdout))
		status := readStory(t, got.stdout).last(t)
		for _, c := range append(status.InitContainerStatuses, status.ContainerStatuses...) {
			want := int32(1)
			if last := c.LastTerminationState.Terminated; last != nil && last.Reason == "StartError" {
				want++ // the kill came when it was just starting
			}
			assert.Deep(t, fmt.Sprintf("restarts after a kill at %q of %s", when, c.Name), want, c.RestartCount)
		}
	}
}

// TestResumeAtAnyMoment: while the sandbox is made, while an init container runs,
// and at moments that nothing marks: the pod comes to its end all the same, and
// nothing is left. A start that is cut off may have begun, and is made again.
func TestResumeAtAnyMoment(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	if got := r.run(t, script("first", "true")); got.code != 0 { // unpacks
		t.Fatal(got.stderr)
	}
	manifest := pod("web", `
restartPolicy: Never
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("init", "touch /v/init; sleep 0.1", mountV)+`
containers:
`+shell("main", "sleep 0.1; [ -e /v/init ] && exit 2", mountV))
	for n := range 6 {
		c := r.startRun(t, manifest)
		switch n {
		case 0: // the sandbox is being made
			awaitFile(t, filepath.Join(r.dir, "ipam/pods/*-*"))
		case 1:
			c.await(c.stderr, "init started")
		default:
			// Not a wait for anything: wherever it is then is as good as elsewhere.
			time.Sleep(time.Duration(40+110*n) * time.Millisecond)
		}
		_ = c.process.Process.Kill() // it may have ended
		c.wait()
		got := r.run(t, manifest)
		assert.True(t, got.code == 2, "after %d: exit code %d\n%s", n, got.code, got.stderr)
		for _, left := range r.left() {
			t.Errorf("left behind after %d: %s", n, left)
		}
	}
}

// rebooted is a pod whose containers write into a volume of the host how often
// they ran.
func rebooted(policy, dir string) string {
	return pod("web", `
restartPolicy: `+policy+`
volumes: [{name: v, hostPath: {path: `+dir+`}}, {name: e, emptyDir: {}}]
initContainers:
`+shell("init", "echo x >> /v/init; echo x >> /e/kept", "volumeMounts: [{name: v, mountPath: /v}, {name: e, mountPath: /e}]")+`
containers:
`+shell("main", "echo x >> /v/main; [ $(wc -l < /e/kept) -ge 2 ] && exit 0; echo up; exec sleep 1000", "volumeMounts: [{name: v, mountPath: /v}, {name: e, mountPath: /e}]"))
}

// TestResumeAfterReboot: sandboxes and containers are gone with the machine's
// uptime: init containers run again in a new sandbox, emptyDirs on disk are kept
// (B-RST-12); under Never the pod ends (B-RST-13).
func TestResumeAfterReboot(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy string
		end    func(*root, *testing.T)
		code   int
		phase  v1.PodPhase
	}{
		{"OnFailure", (*root).reboot, 0, v1.PodSucceeded},
		{"Never", (*root).reboot, -1, v1.PodFailed},
		{"OnFailure", (*root).removeSandboxes, 0, v1.PodSucceeded},
		{"Never", (*root).removeSandboxes, 137, v1.PodFailed},
	} {
		r := newRoot(t)
		manifest := rebooted(tc.policy, t.TempDir())
		c := r.startRun(t, manifest)
		c.await(c.stdout, "main . up")
		c.kill9()
		tc.end(r, t)
		got := r.run(t, manifest, "-o", "json")
		assert.Require(t, (got.code != 0 || tc.code == 0) && (tc.code < 0 || got.code == tc.code),
			"%s: exit code %d\n%s\n%s", tc.policy, got.code, tail(got.stdout), got.stderr)
		status := readStory(t, got.stdout).last(t)
		want := int32(0)
		if tc.policy == "OnFailure" {
			want = 1
		}
		for _, c := range append(status.InitContainerStatuses, status.ContainerStatuses...) {
			assert.Deep(t, fmt.Sprintf("%s: restarts of %s", tc.policy, c.Name), want, c.RestartCount)
		}
		assert.Deep(t, fmt.Sprintf("%s: phase", tc.policy), tc.phase, status.Phase)
	}
}

// reboot ends everything of a root that does not outlive the machine's uptime.
func (r *root) reboot(t *testing.T) {
	t.Helper()
	machine.Until(t, "the end of all processes", func() bool {
		processes := r.processes()
		for _, line := range processes {
			var pid int
			assert.Must(t, assert.ErrorOf(fmt.Sscanf(line, "process %d:", &pid)))
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		return len(processes) == 0
	})
	for mounts := r.mounts(); len(mounts) > 0; mounts = r.mounts() {
		for _, mount := range mounts {
			_ = unix.Unmount(strings.TrimPrefix(mount, "mount "), unix.MNT_DETACH) // one on top of it may be the first
		}
	}
	assert.Must(t, os.RemoveAll(r.runDir()))
}

// removeSandboxes takes everything from the runtime that it knows of pods.
func (r *root) removeSandboxes(t *testing.T) {
	t.Helper()
	client := assert.Get(cri.Dial("unix://" + r.runDir() + "/containerd.sock")).Must(t)
	defer func() { _ = client.Close() }()
	ctx := assert.Context(t, patience)
	list, err := client.Runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	assert.Require(t, err == nil && len(list.Items) != 0, "sandboxes: %v, %v", list, err)
	for _, s := range list.Items {
		assert.Must(t, assert.ErrorOf(client.Runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: s.Id})))
		assert.Must(t, assert.ErrorOf(client.Runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: s.Id})))
	}
}
