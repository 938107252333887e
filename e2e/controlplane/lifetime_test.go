package controlplane_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// programs are those of a control plane.
func programs() []string {
	if os.Getenv("LIFEPOD_CONTROLPLANE") == "" {
		return []string{"lifepod"}
	}
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
}

// processesIn are the programs that work in dir, by process id.
func processesIn(dir string) map[int]string {
	found := map[int]string{}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if working, err := os.Readlink(link); err == nil && strings.TrimSuffix(working, " (deleted)") == dir {
			process := filepath.Dir(link)
			pid, _ := strconv.Atoi(filepath.Base(process))
			name, _ := os.Readlink(filepath.Join(process, "exe"))
			found[pid] = filepath.Base(name)
		}
	}
	return found
}

func checkAllRun(t *testing.T, processes map[int]string) {
	t.Helper()
	assert.Deep(t, "running programs", programs(), slices.Sorted(maps.Values(processes)))
}

func TestAPIServerComesBackWithItsDataAndCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	own := assert.Get(controlplane.Start(t.Context())).Must(t)
	assert.AtEnd(t, own.Close)
	client := assert.Get(kubernetes.NewForConfig(own.RESTConfig())).Must(t)
	configMaps := client.CoreV1().ConfigMaps("default")
	kept := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"key": "value"}}
	assert.Must(t, assert.ErrorOf(configMaps.Create(t.Context(), kept, metav1.CreateOptions{})))

	assert.Must(t, own.StopAPIServer())
	if _, err := configMaps.Get(t.Context(), "kept", metav1.GetOptions{}); err == nil || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		t.Errorf("while the API server is stopped a request gave %v, want an error of the connection", err)
	}
	assert.Must(t, own.StartAPIServer(t.Context()))
	got := assert.Get(configMaps.Get(t.Context(), "kept", metav1.GetOptions{})).Must(t)
	assert.Deep(t, "data after the API server came back", kept.Data, got.Data)
	assert.Fails(t, own.StartAPIServer(t.Context()), "the API server was started twice, want an error")

	checkAllRun(t, processesIn(own.Dir()))
	assert.Must(t, own.Close())
	assert.Empty(t, processesIn(own.Dir()), "processes after Close")
	assert.Empty(t, state(own.Dir()).Left(), "left after Close")
	assert.ErrorIs(t, os.ErrNotExist, assert.ErrorOf(os.Stat(own.Dir())), "the folder is still there after Close")
	assert.NoError(t, own.Close(), "second Close")
}

// state is the state folder of lifepod up in a control plane's folder.
func state(dir string) machine.Root { return machine.Root{Dir: filepath.Join(dir, "up")} }

// TestItDiesWithItsCaller kills a process that has started a control plane.
func TestItDiesWithItsCaller(t *testing.T) {
	t.Parallel()
	caller := exec.Command(os.Args[0])
	caller.Env = append(os.Environ(), startOnly+"=1", "TMPDIR="+t.TempDir())
	caller.Stderr = os.Stderr
	assert.Must(t, assert.ErrorOf(caller.StdinPipe()))
	out := assert.Get(caller.StdoutPipe()).Must(t)
	assert.Must(t, caller.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.Require(t, err == nil, "the caller started nothing: %v", err)
	dir := strings.TrimSpace(line)
	assert.AtEnd(t, func() error { return state(dir).RemoveCluster() })
	processes := processesIn(dir)
	checkAllRun(t, processes)
	var ends []unix.PollFd
	for pid, name := range processes {
		fd, err := unix.PidfdOpen(pid, 0)
		assert.Require(t, err == nil, "watch %s: %v", name, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		ends = append(ends, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}

	assert.Must(t, caller.Process.Kill())
	_ = caller.Wait() // says that it was killed
	for i := range ends {
		if n, err := unix.Poll(ends[i:i+1], 30_000); n != 1 {
			t.Errorf("30 s after their caller was killed %v are still there (%v)", processesIn(dir), err)
		}
	}
}

func TestMissingPrograms(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("LIFEPOD_CONTROLPLANE", empty)
	own, err := controlplane.Start(t.Context())
	if err == nil {
		t.Fatalf("it started (and closed with %v), want an error", own.Close())
	}
	assert.Deep(t, "error", empty+"/etcd is missing: run `make controlplane` first", err.Error())
}

func startShell(t *testing.T, log, script string) *machine.Process {
	t.Helper()
	p := assert.Get(machine.StartProcess(exec.Command("sh", "-c", script), log)).Must(t)
	assert.AtEnd(t, p.Kill)
	return p
}

func TestLastLines(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	<-startShell(t, log, "echo one; echo two >&2").Ended()
	p := startShell(t, log, "echo three; echo four")
	<-p.Ended()
	for count, want := range map[int]string{0: "", 1: "four\n", 3: "two\nthree\nfour\n", 9: "one\ntwo\nthree\nfour\n"} {
		assert.Deep(t, fmt.Sprintf("last %d lines", count), want, string(p.LastLines(count)))
	}
}

func TestKillEndsWhatIgnoresSignals(t *testing.T) {
	p := startShell(t, filepath.Join(t.TempDir(), "log"), "trap '' TERM; exec sleep 1000")
	assert.Must(t, p.Signal(syscall.SIGSTOP))
	assert.Require(t, !p.HasEnded(), "it has ended before it was killed")
	assert.Must(t, p.Kill())
	assert.True(t, p.HasEnded(), "Kill returned before the end")
	assert.NoError(t, p.Signal(syscall.SIGTERM), "a signal for what has ended")
}

// manyPorts makes the test binary another process that is given that many ports, and prints them.
const manyPorts = "LIFEPOD_TEST_MANY_PORTS"

// TestPortsOfTwoProcesses: what one process has been given, another one that runs meanwhile is not.
func TestPortsOfTwoProcesses(t *testing.T) {
	if count, err := strconv.Atoi(os.Getenv(manyPorts)); err == nil {
		for range count {
			port := assert.Get(machine.FreePort()).Must(t)
			fmt.Println("port", port)
		}
		return
	}
	const each = 150 // of 1250 there are
	mine := map[string]bool{}
	for range each {
		port := assert.Get(machine.FreePort()).Must(t)
		assert.True(t, !mine[strconv.Itoa(port)], "port %d was given twice", port)
		mine[strconv.Itoa(port)] = true
	}
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPortsOfTwoProcesses$")
	other.Env = append(os.Environ(), manyPorts+"="+strconv.Itoa(each))
	out, err := other.CombinedOutput()
	assert.Require(t, err == nil, "%v\n%s", err, out)
	theirs := 0
	for line := range strings.Lines(string(out)) {
		if port, is := strings.CutPrefix(strings.TrimSpace(line), "port "); is {
			if theirs++; mine[port] {
				t.Errorf("port %s was given to both", port)
			}
		}
	}
	assert.True(t, theirs == each, "the other process was given %d ports, want %d:\n%s", theirs, each, out)
}
