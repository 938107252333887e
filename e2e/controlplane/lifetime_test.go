package controlplane_test

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
