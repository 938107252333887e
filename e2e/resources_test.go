package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// controller is where the cgroup files of a controller are, and whether the
// machine has cgroup v2.
func controller(name string) (folder string, v2 bool) {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return "/sys/fs/cgroup", true
	}
	return filepath.Join("/sys/fs/cgroup", name), false
}

func readInt(t *testing.T, elem ...string) int64 {
	t.Helper()
	text := assert.Get(os.ReadFile(filepath.Join(elem...))).Must(t)
	if strings.TrimSpace(string(text)) == "max" {
		return -1
	}
	n := assert.Get(strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)).Must(t)
	return n
}

// TestResources: requests and limits as the kernel has them, of the container
// and of the pod, by QoS class.
func TestResources(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		qos       v1.PodQOSClass
		resources string
		folder    string // of the pod, below lifepod's cgroup
		shares    int64
		quota     int64 // µs of 100 ms
		memory    int64
		oomScore  func(machine int64) int64
	}{
		{
			qos: v1.PodQOSGuaranteed, resources: "{limits: {cpu: 500m, memory: 64Mi}}", folder: "",
			shares: 512, quota: 50000, memory: 64 << 20, oomScore: func(int64) int64 { return -997 },
		},
		{
			qos: v1.PodQOSBurstable, resources: "{requests: {cpu: 250m, memory: 32Mi}, limits: {memory: 64Mi}}", folder: "burstable",
			shares: 256, quota: -1, memory: 64 << 20,
			oomScore: func(machine int64) int64 { return 1000 - 1000*(32<<20)/machine },
		},
		{
			qos: v1.PodQOSBestEffort, resources: "{}", folder: "besteffort",
			shares: 2, quota: -1, memory: -1, oomScore: func(int64) int64 { return 1000 },
		},
	} {
		t.Run(string(tc.qos), func(t *testing.T) {
			t.Parallel()
			c := shared.startRun(t, pod("resources-"+strings.ToLower(string(tc.qos)), `
restartPolicy: Never
containers:
`+shell("main", "cat /proc/self/oom_score_adj; trap 'exit 0' TERM; while true; do sleep 0.1; done", "resources: "+tc.resources)), "-o", "json")
			c.await(c.stdout, `"type":"output"`)
			c.await(c.stdout, `"what":"Ready"`)
			status := readStory(t, lines(c.stdout.text())).last(t)
			assert.Deep(t, "QoS class", tc.qos, status.QOSClass)
			inPod := cgroupOf(t, shared, tc.folder, status)
			for _, level := range []string{inPod, filepath.Dir(inPod)} {
				checkCPU(t, level, tc.shares, tc.quota)
				checkMemory(t, level, tc.memory)
			}
			c.signal(syscall.SIGINT)
			result := readStory(t, c.wait().stdout)
			score := assert.Get(strconv.ParseInt(strings.TrimSpace(result.output("main")), 10, 64)).Must(t)
			// Without CAP_SYS_RESOURCE nobody gets a lower score than lifepod has.
			want := max(tc.oomScore(machineMemory(t)), lowestOOMScore(t))
			assert.Deep(t, "oom_score_adj", want, score)
		})
	}
}

// lines are the complete ones.
func lines(text string) string { return text[:strings.LastIndexByte(text, '\n')+1] }

// cgroupOf is the container's cgroup, below a controller's folder.
func cgroupOf(t *testing.T, r *root, qosFolder string, status v1.PodStatus) string {
	t.Helper()
	id := strings.TrimPrefix(containerNamed(t, status, "main").ContainerID, "containerd://")
	folder, _ := controller("memory")
	found, err := filepath.Glob(filepath.Join(folder, r.cgroup(), qosFolder, "pod*", id))
	assert.Require(t, err == nil && len(found) == 1, "cgroups of container %s: %v, %v", id, found, err)
	return strings.TrimPrefix(found[0], folder)
}

func checkCPU(t *testing.T, level string, wantShares, wantQuota int64) {
	t.Helper()
	folder, v2 := controller("cpu")
	var shares, quota int64
	if v2 {
		shares, quota = readInt(t, folder, level, "cpu.weight"), -1
		if text := fmt.Sprint(readFirst(t, folder, level, "cpu.max")); text != "max" {
			quota = readInt(t, folder, level, "cpu.max")
		}
	} else {
		shares, quota = readInt(t, folder, level, "cpu.shares"), readInt(t, folder, level, "cpu.cfs_quota_us")
	}
	// The weights of v2 are of another scale, which the units' tests know.
	assert.True(t, v2 || shares == wantShares, "%s: CPU shares %d, want %d", level, shares, wantShares)
	assert.Deep(t, fmt.Sprintf("%s: CPU quota", level), wantQuota, quota)
}

func readFirst(t *testing.T, elem ...string) string {
	t.Helper()
	text := assert.Get(os.ReadFile(filepath.Join(elem...))).Must(t)
	return strings.Fields(string(text))[0]
}

func checkMemory(t *testing.T, level string, want int64) {
	t.Helper()
	folder, v2 := controller("memory")
	name := "memory.limit_in_bytes"
	if v2 {
		name = "memory.max"
	}
	got := readInt(t, folder, level, name)
	if got > 1<<60 {
		got = -1 // how v1 says none
	}
	assert.Deep(t, fmt.Sprintf("%s: memory limit", level), want, got)
}

func machineMemory(t *testing.T) int64 {
	t.Helper()
	var info syscall.Sysinfo_t
	assert.Must(t, syscall.Sysinfo(&info))
	return int64(info.Totalram) * int64(info.Unit)
}

// lowestOOMScore is the lowest score that this process may give: any with
// CAP_SYS_RESOURCE, else its own.
func lowestOOMScore(t *testing.T) int64 {
	t.Helper()
	status := assert.Get(os.ReadFile("/proc/self/status")).Must(t)
	_, rest, _ := strings.Cut(string(status), "CapEff:")
	capabilities := assert.Get(strconv.ParseUint(strings.Fields(rest)[0], 16, 64)).Must(t)
	const sysResource = 24
	if capabilities&(1<<sysResource) != 0 {
		return -1000
	}
	return readInt(t, "/proc/self/oom_score_adj")
}

// TestOOMKill: a container that uses more memory than its limit is killed, and
// the status says why, every time (B-OOM-1, A-CST-9).
func TestOOMKill(t *testing.T) {
	t.Parallel()
	for range 20 {
		result := shared.runStory(t, 137, pod("oom", `
restartPolicy: Never
containers:
- {name: main, image: TOOLBOX, command: [eat-memory, 256Mi], resources: {limits: {memory: 32Mi}}}`))
		main := containerNamed(t, result.last(t), "main").State.Terminated
		assert.Require(t, main != nil && main.Reason == "OOMKilled" && main.ExitCode == 137, "main: %+v", main)
	}
}

// TestMemoryTooLowForASandbox: if the limit lets not even the sandbox begin, the error names it (A-SBX-3).
func TestMemoryTooLowForASandbox(t *testing.T) {
	t.Parallel()
	c := shared.startRun(t, pod("memory-too-low", "restartPolicy: Never\ncontainers:\n"+shell("main", "echo ran", "resources: {limits: {memory: 16Ki}}")), "-v")
	c.await(c.stderr, `Failed to create pod sandbox: .* \(memory limit too low\? It is 16384 bytes, in whole pages\)`)
	c.signal(os.Interrupt)
	c.wait()
}
