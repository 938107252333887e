package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/containerd/containerd/v2/pkg/sys/reaper"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// alone is a plan with all namespaces that need none that is there already.
func alone() Plan {
	return Plan{
		namespaces: unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWPID,
		uid:        65535, gid: 65535, hostname: "a-pod",
	}
}

func noCgroup(int) error { return nil }

// launch runs a sandbox's process until the test ends.
func launch(t *testing.T, p Plan) (pid int) {
	t.Helper()
	h := assert.Get(Begin(program, p, noCgroup)).Must(t)
	t.Cleanup(func() {
		h.Close()
		_ = unix.Kill(h.PID, unix.SIGKILL)
		h.Exited()
	})
	assert.Must(t, h.Finish())
	return h.PID
}

func namespace(t *testing.T, pid any, kind string) string {
	t.Helper()
	return assert.Get(os.Readlink(fmt.Sprintf("/proc/%v/ns/%s", pid, kind))).Must(t)
}

// status is one line of a process's status.
func status(t *testing.T, pid int, key string) string {
	t.Helper()
	text := assert.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))).Must(t)
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, key+":"); is {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	t.Fatalf("no %s in the status of %d", key, pid)
	return ""
}

func TestProcessHoldsItsNamespaces(t *testing.T) {
	pid := launch(t, alone())
	for _, kind := range []string{"mnt", "ipc", "uts", "pid"} {
		assert.True(t, namespace(t, pid, kind) != namespace(t, "self", kind), "its %s namespace is the machine's", kind)
	}
	for _, kind := range []string{"net", "user"} {
		assert.True(t, namespace(t, pid, kind) == namespace(t, "self", kind), "its %s namespace is not the machine's", kind)
	}
	if got := status(t, pid, "NSpid"); !strings.HasSuffix(got, " 1") {
		t.Errorf("it is not process 1 of its PID namespace: %q", got)
	}
	assert.Equal(t, "a-pod", inside(t, pid, "uts", hostname), "hostname")
}

func hostname() (string, error) { return os.Hostname() }

// among returns the process of a pod's network and user namespace, in which the first IDs are those
// of the machine from 100000 on.
func among(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "infinity")
	ids := []syscall.SysProcIDMap{{HostID: 100000, Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true}
	ended := assert.Get(reaper.Default.Start(cmd)).Must(t)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = reaper.Default.Wait(cmd, ended) })
	return cmd.Process.Pid
}

func TestProcessJoinsNamespaces(t *testing.T) {
	of := among(t)
	p := alone()
	p.network, p.user = fmt.Sprintf("/proc/%d/ns/net", of), fmt.Sprintf("/proc/%d/ns/user", of)
	p.sysctls = everyPods
	pid := launch(t, p)
	for _, kind := range []string{"net", "user"} {
		if got, want := namespace(t, pid, kind), namespace(t, of, kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
	for _, s := range everyPods {
		got := inside(t, pid, "net", func() (string, error) {
			text, err := os.ReadFile(s.path)
			return strings.Join(strings.Fields(string(text)), " "), err
		})
		assert.True(t, got == s.value, "%s is %q", s.path, got)
	}
	if got, want := status(t, pid, "Uid"), "165535 165535 165535 165535"; got != want {
		t.Errorf("its users are %q, want %q", got, want)
	}
	assert.Equal(t, "a-pod", inside(t, pid, "uts", hostname), "hostname")
}

// inside asks in one of the namespaces of a process.
func inside(t *testing.T, pid int, kind string, ask func() (string, error)) string {
	t.Helper()
	type result struct {
		text string
		err  error
	}
	answer := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err == nil {
			err = errors.Join(unix.Setns(int(file.Fd()), 0), file.Close())
		}
		if err != nil {
			answer <- result{err: err}
			return
		}
		text, err := ask()
		answer <- result{text, err}
	}()
	got := <-answer
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.text
}

// A container that shares the PID namespace sees this process, and is not to come by
// the machine through it.
func TestProcessHasNothingOfTheMachine(t *testing.T) {
	pid := launch(t, alone())
	for key, want := range map[string]string{
		"Uid": "65535 65535 65535 65535", "Gid": "65535 65535 65535 65535", "Groups": "",
		"CapEff": "0000000000000000", "CapPrm": "0000000000000000", "CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "2", "Name": "pause",
	} {
		assert.Equal(t, want, status(t, pid, key), "%s", key)
	}
	root, err := os.ReadDir(fmt.Sprintf("/proc/%d/root", pid))
	assert.True(t, err == nil && len(root) == 0, "it sees files: %v, %v", root, err)
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", pid))
	if err != nil || strings.Count(string(mounts), "\n") != 1 || !strings.Contains(string(mounts), " ro,") {
		t.Errorf("it has mounts but for one that is read-only: %v\n%s", err, mounts)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	assert.True(t, err == nil && len(files) == 0, "it has open files: %v, %v", files, err)
	executable := fmt.Sprintf("/proc/%d/exe", pid)
	file, err := os.OpenFile(executable, os.O_WRONLY, 0)
	if err == nil {
		_ = file.Close()
		t.Error("its program can be written to")
	}
	if link, err := os.Readlink(executable); err != nil || !strings.HasPrefix(link, "/memfd:") {
		t.Errorf("its program is a file of the machine: %q, %v", link, err)
	}
}

func TestProcessEndsOnSignals(t *testing.T) {
	for signal, code := range map[unix.Signal]int{unix.SIGTERM: 0, unix.SIGINT: 0, unix.SIGKILL: 137} {
		h := assert.Get(Begin(program, alone(), noCgroup)).Must(t)
		defer h.Close()
		assert.Must(t, h.Finish())
		assert.Must(t, unix.Kill(h.PID, signal))
		if exit := h.Exited(); exit.Status != code {
			t.Errorf("%v: it ended with %d, want %d", signal, exit.Status, code)
		}
	}
}

// A shim that dies before it has written down which process it has made leaves none.
func TestProcessEndsWithAShimThatHasNotNotedIt(t *testing.T) {
	h := assert.Get(Begin(program, alone(), noCgroup)).Must(t)
	h.Close() // as the end of the shim does
	if exit := h.Exited(); exit.Status != 1 {
		t.Errorf("it ended with %d, want 1", exit.Status)
	}
}

func TestAStepThatFailsIsNamed(t *testing.T) {
	wrong := alone()
	wrong.network = filepath.Join(t.TempDir(), "none")
	if _, err := Begin(program, wrong, noCgroup); err == nil || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "join the network namespace") {
		t.Errorf("%v", err)
	}
	wrong = alone()
	wrong.user = filepath.Join(t.TempDir(), "no-namespace")
	assert.Must(t, os.WriteFile(wrong.user, nil, 0o600))
	if _, err := Begin(program, wrong, noCgroup); !errors.Is(err, unix.EINVAL) || !strings.Contains(err.Error(), "join the user namespace") {
		t.Errorf("%v", err)
	}
	wrong = alone()
	wrong.network = "/proc/self/ns/net"
	wrong.sysctls = []sysctl{{key: "net.none", path: "/proc/sys/net/none"}}
	finishFails(t, wrong, fs.ErrNotExist, "net.none")
	wrong = alone()
	wrong.hostname = strings.Repeat("a", 65)
	finishFails(t, wrong, unix.EINVAL, "set the hostname")
	if _, err := Begin(program, alone(), func(int) error { return fs.ErrPermission }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}

func finishFails(t *testing.T, p Plan, want error, text string) {
	t.Helper()
	h := assert.Get(Begin(program, p, noCgroup)).Must(t)
	if err := h.Finish(); !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v", err)
	}
	h.Close()
	h.Exited()
}

// A hostname is taken for nothing else, whatever it has.
func TestHostnameIsNothingElse(t *testing.T) {
	folder := assert.Get(os.MkdirTemp("", "c")).Must(t) // short enough for a hostname
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	canary := filepath.Join(folder, "c")
	assert.Must(t, os.WriteFile(canary, []byte("as before"), 0o600))
	p := alone()
	p.hostname = "a\x00" + canary + "\x00changed"
	pid := launch(t, p)
	if text, err := os.ReadFile(canary); err != nil || string(text) != "as before" {
		t.Errorf("a file of the machine is %q, %v", text, err)
	}
	if got := inside(t, pid, "uts", hostname); got != "a" && got != p.hostname {
		t.Errorf("hostname %q", got)
	}
}
