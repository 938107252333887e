package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/stats"
)

// bomb begins COUNT processes that sleep.
const bomb = `
metadata: {name: bomb}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "for i in $(seq 1 COUNT); do sleep infinity & done; wait"]}
`

// TestPIDPressure: a pod that begins so many processes that the node runs short of them is
// evicted, and its neighbour lives on (B-EVI-1, B-EVI-7, B-EVI-9).
func TestPIDPressure(t *testing.T) {
	t.Parallel()
	const processes = 250 // each has several threads, which count
	now := assert.Get(stats.Processes()).Must(t)
	node := newNode(t, member.Config{Kubelet: map[string]any{
		"evictionHard":                     map[string]string{"pid.available": strconv.FormatInt(*now.MaxPID-*now.NumOfRunningProcesses-2*processes, 10)},
		"evictionPressureTransitionPeriod": "3s",
	}})
	c := newCluster(t, node)
	c.create(modest)
	c.awaitReady("modest")
	c.create(strings.ReplaceAll(bomb, "COUNT", strconv.Itoa(processes)))
	pressed := func(status v1.ConditionStatus) {
		t.Helper()
		assert.Must(t, node.AwaitNode(t.Context(), "to have PIDPressure "+string(status), under(v1.NodePIDPressure, status)))
	}
	pressed(v1.ConditionTrue)
	c.evicted("bomb", "pids", `Threshold quantity: [0-9]+, available: [0-9]+`)
	pressed(v1.ConditionFalse)
	c.wantNodeEvent("EvictionThresholdMet", "Attempting to reclaim pids")
	c.awaitReady("modest")
	c.wantVictims("bomb")
}

// TestProcessesOfAPod: a pod can't begin more processes than podPidsLimit, and its
// neighbour feels nothing of that.
func TestProcessesOfAPod(t *testing.T) {
	t.Parallel()
	const limit = 100
	node := newNode(t, member.Config{Kubelet: map[string]any{"podPidsLimit": limit}})
	c := newCluster(t, node)
	c.create(modest)
	neighbour := c.awaitReady("modest")
	c.create(strings.ReplaceAll(bomb, "COUNT", "200"))
	c.await("bomb", "to have begun", func(pod *v1.Pod) bool { return pod.Status.Phase != v1.PodPending }) // there is no log before
	// Its shell may get no thread either, and end of that.
	c.awaitInLog("bomb", regexp.MustCompile(`(?i)resource temporarily unavailable|failed to create new OS thread`))
	limits := filesOfCgroup(t, neighbour, "pids.max")
	assert.True(t, len(limits) != 0, "pod modest has no limit")
	for _, file := range limits {
		text, err := os.ReadFile(file)
		assert.True(t, err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(limit), "%s is %s, want %d (%v)", file, text, limit, err)
	}
	c.awaitReady("modest")
	c.wantVictims()
}

// filesOfCgroup are the files of that name of a pod's cgroup, of cgroup v1 or v2.
func filesOfCgroup(t *testing.T, pod *v1.Pod, file string) []string {
	t.Helper()
	var found []string
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		for depth := "*"; strings.Count(depth, "*") < 6; depth += "/*" {
			files := assert.Get(filepath.Glob(filepath.Join(root, depth, "pod"+string(pod.UID), file))).Must(t)
			found = append(found, files...)
		}
	}
	return found
}
