package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestKilledLifepod: a pod whose lifepod was killed is left alone by others, which
// say so; lifepod stop ends it, and nothing stays.
func TestKilledLifepod(t *testing.T) {
	t.Parallel()
	manifest := pod("victim", `
restartPolicy: Always
terminationGracePeriodSeconds: 3600
volumes: [{name: v, emptyDir: {}}]
initContainers:
`+shell("proxy", stubborn, "restartPolicy: Always")+`
containers:
`+shell("main", stubborn, mountV))
	r := newRoot(t)
	if got := r.run(t, script("first", "true")); got.code != 0 { // unpacks
		t.Fatal(got.stderr)
	}
	for _, when := range []string{"sandbox", "proxy", "running", "terminating"} {
		c := r.startRun(t, manifest)
		switch when {
		case "sandbox":
			awaitFile(t, filepath.Join(r.dir, "ipam/pods/*-*"))
		case "proxy":
			c.await(c.stderr, "proxy started")
		case "running":
			c.await(c.stderr, "pod Ready")
		case "terminating":
			c.await(c.stdout, "main . working")
			c.await(c.stderr, "pod Ready")
			c.signal(syscall.SIGTERM)
			c.await(c.stdout, "main . ignored")
		}
		c.signal(syscall.SIGKILL)
		c.wait()
		got := r.run(t, script("next", "echo fine"))
		assert.True(t, got.code == 0 && got.stdout == "fine\n" &&
			strings.Contains(got.stderr, "warning: pod default/victim is unattended: its lifepod run was killed"), "after a kill %s: exit code %d: %s%s", when, got.code, got.stdout, got.stderr)
		got = r.lifepod(t, "", "stop", "victim", "--grace", "1")
		assert.True(t, got.code == 0, "stop after a kill %s: exit code %d: %s", when, got.code, got.stderr)
		for _, left := range r.left() {
			t.Errorf("left behind after a kill %s: %s", when, left)
		}
	}
}

// A state folder that was removed under its pods doesn't keep doctor from removing the
// rest of them.
func TestSweepWithoutFolder(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	c := r.startRun(t, script("victim", "sleep 1000"))
	c.await(c.stderr, "pod Ready")
	c.signal(syscall.SIGKILL)
	c.wait()
	assert.Must(t, os.RemoveAll(r.dir))
	assert.Require(t, len(r.processes()) != 0, "nothing is left to be removed")
	got := r.lifepod(t, "", "doctor", "--sweep")
	assert.True(t, strings.Contains(got.stderr, "removed process") && strings.Contains(got.stdout, "none below "+r.dir),
		"exit code %d: %s%s", got.code, got.stdout, got.stderr)
	for _, left := range r.left() {
		t.Errorf("left behind: %s", left)
	}
}

// TestKilledAtAnyMoment: the same at moments that nothing marks.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	got := r.run(t, script("first", "true"))
	assert.Require(t, got.code == 0, "%s", got.stderr)
	for n := range 8 {
		c := r.startRun(t, script("victim", "exit 1"))
		// Not a wait for anything: wherever it is then is as good as elsewhere.
		time.Sleep(time.Duration(50+90*n) * time.Millisecond)
		_ = c.process.Process.Kill() // it may have ended
		c.wait()
		got := r.run(t, script("next", "exit 4"))
		assert.True(t, got.code == 4, "after %d: exit code %d\n%s", n, got.code, got.stderr)
		got = r.run(t, script("victim", "exit 1")) // as it would have ended
		assert.True(t, got.code == 1, "the victim after %d: exit code %d\n%s", n, got.code, got.stderr)
		for _, left := range r.left() {
			t.Errorf("left behind after %d: %s", n, left)
		}
	}
}

// TestInterruptDuringStart: Ctrl-C before the pod runs ends the command, and
// nothing stays.
func TestInterruptDuringStart(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for n := range 8 {
		c := r.startRun(t, script("early", "sleep infinity"))
		time.Sleep(time.Duration(20+70*n) * time.Millisecond) // as above
		c.signal(syscall.SIGINT)
		got := c.wait()
		assert.True(t, got.code == 130 || got.code == -1, "interrupt %d: exit code %d\n%s", n, got.code, got.stderr)
		for _, left := range r.left() {
			t.Errorf("left behind after interrupt %d: %s", n, left)
		}
	}
}

// awaitFile waits until a file matches.
func awaitFile(t *testing.T, pattern string) {
	t.Helper()
	machine.Until(t, "a file "+pattern, func() bool {
		found, err := filepath.Glob(pattern)
		return err == nil && len(found) > 0
	})
}

// kill sends KILL to the processes of the root whose command line begins so.
func (r *root) kill(t *testing.T, command string) {
	t.Helper()
	killed := 0
	for _, line := range r.processes() {
		var pid int
		head, rest, _ := strings.Cut(line, ": ")
		assert.Must(t, assert.ErrorOf(fmt.Sscanf(head, "process %d", &pid)))
		if !strings.HasPrefix(rest, command) {
			continue
		}
		err := syscall.Kill(pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			continue // it ended with the one before: a process between fork and exec has its parent's command line
		}
		assert.Must(t, err)
		killed++
	}
	assert.Require(t, killed != 0, "no process %q among %q", command, r.processes())
}

func (r *root) containerd(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir, "bundle/*/bin/containerd"))
	assert.Require(t, err == nil && len(found) == 1, "containerd: %v, %v", found, err)
	return found[0]
}

// TestKilledContainerd: the pod goes on, and what happens to it is still seen.
func TestKilledContainerd(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	dir := t.TempDir()
	c := r.startRun(t, pod("survivor", `
restartPolicy: OnFailure
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", `
echo instance $(hostname)
if [ -e /v/crashed ]; then until [ -e /v/finish ]; do sleep 0.05; done; exit 0; fi
until [ -e /v/crash ]; do sleep 0.05; done
touch /v/crashed
exit 3`, mountV)))
	c.await(c.stderr, "pod Ready")
	r.killContainerd(t)
	writeFile(t, filepath.Join(dir, "crash"))
	c.await(c.stderr, "main exited 3")
	c.await(c.stderr, "1st restart")
	c.await(c.stdout, "(?s)instance survivor.*instance survivor") // what containerd holds when it is killed is lost
	r.killContainerd(t)
	writeFile(t, filepath.Join(dir, "finish"))
	got := c.wait()
	assert.True(t, got.code == 0 && strings.Count(got.stdout, "instance survivor\n") == 2 && strings.Contains(got.stderr, "pod Succeeded"),
		"exit code %d: %s%s", got.code, got.stdout, got.stderr)
}

// killContainerd returns when another containerd answers in its place.
func (r *root) killContainerd(t *testing.T) {
	t.Helper()
	r.kill(t, r.containerd(t)+" ")
	machine.Until(t, "a containerd that answers", func() bool { return r.lifepod(t, "", "image", "ls").code == 0 })
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	assert.Must(t, os.WriteFile(path, nil, 0o600))
}

// TestKilledSandbox: when the pause process dies, a pod that restarts gets a new
// sandbox with the same address.
func TestKilledSandbox(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	c := r.startRun(t, pod("sandbox", `
restartPolicy: Always
containers:
`+shell("main", "trap 'exit 0' TERM; echo up; while true; do sleep 0.1; done")))
	first := c.await(c.stderr, "sandbox ready, address [0-9.]+")
	c.await(c.stderr, "pod Ready")
	c.await(c.stdout, "up") // else it may end before
	r.kill(t, "/pause")
	machine.Until(t, "a second instance", func() bool { return strings.Count(c.stdout.text(), "up\n") == 2 })
	assert.True(t, strings.Count(c.stderr.text(), first) == 2, "the address was to stay the same:\n%s", c.stderr.text())
	c.signal(syscall.SIGINT)
	c.wait().wantCode(t, 130)
}

// TestKilledContainer: a container's process that somebody kills has exited 137
// and is restarted.
func TestKilledContainer(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	c := r.startRun(t, pod("container", `
restartPolicy: OnFailure
containers:
`+shell("main", "echo up; sleep infinity")), "-o", "json")
	c.await(c.stdout, `"text":"up`)
	r.kill(t, "sh -c echo up")
	c.await(c.stdout, `1st restart`)
	c.signal(syscall.SIGINT)
	got := c.wait()
	result := readStory(t, got.stdout)
	main := containerNamed(t, result.last(t), "main")
	e := main.LastTerminationState.Terminated
	assert.True(t, e != nil && e.ExitCode == 137 && e.Reason == "Error" && main.RestartCount == 1, "main: %+v", main)
	phase := result.last(t).Phase
	assert.True(t, phase == v1.PodSucceeded || phase == v1.PodFailed, "phase %s", phase)
}
