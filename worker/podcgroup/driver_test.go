package podcgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

func list(cpu, memory string) v1.ResourceList {
	out := v1.ResourceList{}
	if cpu != "" {
		out[v1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		out[v1.ResourceMemory] = resource.MustParse(memory)
	}
	return out
}

func needs(requests, limits v1.ResourceList) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: requests, Limits: limits}
}

func podOf(resources ...v1.ResourceRequirements) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "11-22"}}
	for i, r := range resources {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: fmt.Sprintf("c%d", i), Resources: r})
	}
	return pod
}

func TestPath(t *testing.T) {
	guaranteed := podOf(needs(list("1", "1Gi"), list("1", "1Gi")))
	burstable := podOf(needs(list("1", ""), nil))
	bestEffort := podOf(v1.ResourceRequirements{})
	for _, tc := range []struct {
		name string
		d    Driver
		pod  *v1.Pod
		want string
	}{
		{"A-CRI-6 cgroupfs Guaranteed", Driver{Parent: "kubepods"}, guaranteed, "/kubepods/pod11-22"},
		{"A-CRI-6 cgroupfs Burstable", Driver{Parent: "kubepods"}, burstable, "/kubepods/burstable/pod11-22"},
		{"A-CRI-6 cgroupfs BestEffort", Driver{Parent: "kubepods"}, bestEffort, "/kubepods/besteffort/pod11-22"},
		{"cgroupRoot", Driver{Parent: "a/kubepods"}, burstable, "/a/kubepods/burstable/pod11-22"},
		{"cgroupRoot, systemd", Driver{Parent: "a/kubepods", Systemd: true}, burstable, "/a.slice/a-kubepods.slice/a-kubepods-burstable.slice/a-kubepods-burstable-pod11_22.slice"},
		{"A-CRI-6 systemd Guaranteed", Driver{Parent: "kubepods", Systemd: true}, guaranteed, "/kubepods.slice/kubepods-pod11_22.slice"},
		{"A-CRI-6 systemd Burstable", Driver{Parent: "kubepods", Systemd: true}, burstable, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11_22.slice"},
		{"A-CRI-6 systemd with - in the parent", Driver{Parent: "life-pod", Systemd: true}, guaranteed, "/life_pod.slice/life_pod-pod11_22.slice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.d.Path(tc.pod), "Path")
		})
	}
}

// testDriver has a parent of its own that is gone after the test.
func testDriver(t testing.TB) Driver {
	d := Driver{Parent: fmt.Sprintf("lifepod-test-%d", os.Getpid())}
	t.Cleanup(func() {
		uids, err := d.Pods()
		for _, uid := range uids {
			err = errors.Join(err, d.Remove(context.Background(), uid))
		}
		err = errors.Join(err, d.RemoveParents())
		assert.True(t, err == nil, "clean up: %v", err)
		assert.Empty(t, folders(d, "/"+d.Parent), "cgroups left behind")
	})
	return d
}

// folders are those of a cgroup that exist in any hierarchy.
func folders(d Driver, path string) []string {
	m, err := d.manager(levels(d.Parent), Resources{CPUShares: MinCPUShares})
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, dir := range m.GetPaths() {
		full := strings.TrimSuffix(dir, "/"+d.Parent) + path
		if _, err := os.Stat(full); err == nil {
			out = append(out, full)
		}
	}
	return out
}

// read is the value of a file of a pod's cgroup.
func read(t *testing.T, d Driver, pod *v1.Pod, v1File, v2File string) string {
	t.Helper()
	return readIn(t, folders(d, d.Path(pod)), v1File, v2File)
}

// readIn finds a file in the hierarchy that has it.
func readIn(t *testing.T, dirs []string, v1File, v2File string) string {
	t.Helper()
	file := v1File
	if cgroups.IsCgroup2UnifiedMode() {
		file = v2File
	}
	for _, dir := range dirs {
		if content, err := os.ReadFile(filepath.Join(dir, file)); err == nil {
			return strings.TrimSpace(string(content))
		}
	}
	t.Fatalf("no %s in %v", file, dirs)
	return ""
}

func TestEnsureSetsTheValues(t *testing.T) {
	d := testDriver(t)
	d.PidsLimit = 77
	for i, tc := range []struct {
		name string
		pod  *v1.Pod
		// shares, quota and memory on cgroup v1; weight, cpu.max and memory.max on v2.
		want1, want2 [3]string
	}{
		{
			"A-CRI-9 Guaranteed", podOf(needs(list("500m", "64Mi"), list("500m", "64Mi"))),
			[3]string{"512", "50000", "67108864"}, [3]string{"20", "50000 100000", "67108864"},
		},
		{
			"A-CRI-9 Burstable with one limit missing", podOf(needs(list("250m", ""), list("1", "64Mi")), needs(nil, list("1", ""))),
			[3]string{"256", "200000", "unlimited"}, [3]string{"10", "200000 100000", "max"},
		},
		{"A-CRI-9 BestEffort", podOf(v1.ResourceRequirements{}), [3]string{"2", "-1", "unlimited"}, [3]string{"1", "max 100000", "max"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.pod.UID = types.UID(fmt.Sprintf("uid-%d", i))
			for range 2 {
				assert.Must(t, d.Ensure(tc.pod))
			}
			got := [3]string{
				read(t, d, tc.pod, "cpu.shares", "cpu.weight"),
				read(t, d, tc.pod, "cpu.cfs_quota_us", "cpu.max"),
				read(t, d, tc.pod, "memory.limit_in_bytes", "memory.max"),
			}
			if len(got[2]) > 15 {
				got[2] = "unlimited"
			}
			want := tc.want1
			if cgroups.IsCgroup2UnifiedMode() {
				want = tc.want2
			}
			assert.Deep(t, "values", want, got)
			assert.Equal(t, "77", read(t, d, tc.pod, "pids.max", "pids.max"), "A-RES-8 pids.max")
		})
	}
}

// An agent whose configuration was changed brings the pods of the one before to it
// (A-CRI-7).
func TestEnsureCPULimits(t *testing.T) {
	d := testDriver(t)
	pod := podOf(needs(nil, list("500m", "")))
	for _, step := range []struct {
		cpu                   CPULimits
		quota1, period1, max2 string
	}{
		{CPULimits{}, "50000", "100000", "50000 100000"},
		{CPULimits{Period: 20 * time.Millisecond}, "10000", "20000", "10000 20000"},
		{CPULimits{Off: true}, "-1", "100000", "max 100000"},
		{CPULimits{}, "50000", "100000", "50000 100000"},
	} {
		d.CPULimits = step.cpu
		for _, set := range []func() error{func() error { return d.Ensure(pod) }, func() error { return d.Resize([]*v1.Pod{pod}) }} {
			assert.Must(t, set())
			quota := read(t, d, pod, "cpu.cfs_quota_us", "cpu.max")
			want, period := step.quota1, step.period1
			if cgroups.IsCgroup2UnifiedMode() {
				want, period = step.max2, step.max2
			}
			got := read(t, d, pod, "cpu.cfs_period_us", "cpu.max")
			assert.True(t, quota == want && got == period, "%+v: quota %s, period %s, want %s, %s", step.cpu, quota, got, want, period)
		}
	}
}

func TestEnsureWeighsTheLevels(t *testing.T) {
	d := testDriver(t)
	for i, request := range []string{"250m", "1", ""} {
		pod := podOf(needs(list(request, ""), nil))
		pod.UID = types.UID(fmt.Sprintf("uid-%d", i))
		assert.Must(t, d.Ensure(pod))
	}
	want := [2]string{"1280", "2"}
	if cgroups.IsCgroup2UnifiedMode() {
		want = [2]string{"49", "1"}
	}
	for i, class := range []v1.PodQOSClass{v1.PodQOSBurstable, v1.PodQOSBestEffort} {
		assert.Equal(t, want[i], readIn(t, folders(d, d.path(d.names(class, "")[:2])), "cpu.shares", "cpu.weight"), "weight of the level %s", class)
	}
}

// startIn starts a process and moves it into a cgroup.
func startIn(t *testing.T, dirs []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	assert.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for _, dir := range dirs {
		assert.Must(t, cgroups.WriteCgroupProc(dir, cmd.Process.Pid))
	}
	return cmd
}

func TestRemoveKillsAndRemoves(t *testing.T) {
	d := testDriver(t)
	pod := podOf(needs(list("1", ""), nil))
	assert.Must(t, d.Ensure(pod))
	dirs := folders(d, d.Path(pod))
	var inner []string
	for _, dir := range dirs {
		child := filepath.Join(dir, "container")
		assert.Must(t, os.Mkdir(child, 0o755))
		inner = append(inner, child)
	}
	if dir := findCpuset(inner); dir != "" {
		copyCpuset(t, dir)
	}
	cmd := startIn(t, inner)
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()

	uids, err := d.Pods()
	assert.True(t, err == nil && len(uids) == 1 && uids[0] == pod.UID, "Pods = %v, %v, want %s", uids, err, pod.UID)
	assert.Must(t, d.RemoveParents())
	got := folders(d, d.Path(pod))
	assert.True(t, len(got) == len(dirs), "RemoveParents removed a pod in use: %v are left of %v", got, dirs)
	assert.Must(t, d.Remove(t.Context(), pod.UID))
	var exit *exec.ExitError
	err = <-exited
	assert.True(t, errors.As(err, &exit) && exit.String() == "signal: killed", "the process ended with %v, want signal: killed", err)
	assert.Empty(t, folders(d, d.Path(pod)), "left behind")
	assert.NoError(t, d.Remove(t.Context(), pod.UID), "removing what is absent")
}

func findCpuset(dirs []string) string {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "cpuset.mems")); err == nil && !cgroups.IsCgroup2UnifiedMode() {
			return dir
		}
	}
	return ""
}

// copyCpuset does for a container's cpuset what the runtime does: on cgroup v1
// it starts empty and takes no process.
func copyCpuset(t *testing.T, dir string) {
	t.Helper()
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), value, 0o600)
		}
		assert.Must(t, err)
	}
}

func TestRemoveFinishesAHalfRemovedPod(t *testing.T) {
	d := testDriver(t)
	pod := podOf(v1.ResourceRequirements{})
	assert.Must(t, d.Ensure(pod))
	dirs := folders(d, d.Path(pod))
	for _, dir := range dirs[1:] {
		assert.Must(t, os.Remove(dir))
	}
	assert.Must(t, d.Remove(t.Context(), pod.UID))
	assert.Empty(t, folders(d, d.Path(pod)), "left behind")
}

func TestDriverRefusesAParentThatIsNotItsOwn(t *testing.T) {
	for _, parent := range []string{"", "/", "a//b"} {
		d := Driver{Parent: parent}
		assert.Fails(t, d.Ensure(podOf(v1.ResourceRequirements{})), "Ensure with parent ", parent, " succeeded")
		assert.Fails(t, d.RemoveParents(), "RemoveParents with parent ", parent, " succeeded")
	}
	assert.Fails(t, (Driver{Parent: "lifepod-test"}).Remove(t.Context(), ""), "Remove without a UID succeeded")
}

// TestTogether: whoever asks while a batch is under way waits for the next one, which is one for all of them, and gets its error.
func TestTogether(t *testing.T) {
	var r batch
	begun, goOn, second := make(chan struct{}), make(chan struct{}), errors.New("second")
	var all sync.WaitGroup
	all.Go(func() {
		err := r.together(func() error {
			close(begun)
			<-goOn
			return nil
		})
		assert.NoError(t, err)
	})
	<-begun
	var runs, failed atomic.Int32
	for range 50 {
		all.Go(func() {
			err := r.together(func() error {
				runs.Add(1)
				return second
			})
			if errors.Is(err, second) {
				failed.Add(1)
			}
		})
	}
	for r.asked.Load() < 51 {
		runtime.Gosched()
	}
	close(goOn)
	all.Wait()
	assert.True(t, runs.Load() == 1 && failed.Load() == 50, "%d runs for %d who were told of its error, want 1 for 50", runs.Load(), failed.Load())
	err := r.together(func() error { runs.Add(1); return nil })
	assert.True(t, err == nil && runs.Load() == 2, "asked again: %v, %d runs", err, runs.Load())
}

// TestTogetherAlone: without batches it is done for each.
func TestTogetherAlone(t *testing.T) {
	var none Batches
	times := 0
	for range 2 {
		assert.Must(t, none.protected.together(func() error { times++; return nil }))
	}
	assert.True(t, times == 2, "%d times", times)
}
