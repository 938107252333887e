package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestChurn creates pods and deletes them, again and again: after each cycle nothing
// is left of them on the machine, and the agent is as small as it was (B-FIN-6,
// B-GC-5).
func TestChurn(t *testing.T) {
	t.Parallel()
	n := startNode(t, member.Config{Kubelet: map[string]any{"maxPods": 2 * *churnPods}})
	begin, cycles := time.Now(), 0
	var sizes []size
	for ; cycles < 2 || time.Since(begin) < *churnTime; cycles++ {
		pods := make([]*v1.Pod, *churnPods)
		for i := range pods {
			pods[i] = n.create(t, n.idle(t, fmt.Sprintf("churn-%d-%d", cycles, i)))
		}
		n.awaitReadyPods(t, pods...)
		for _, pod := range pods {
			n.remove(t, pod)
		}
		n.awaitNoPods(t)
		n.awaitNothingLeft(t)
		sizes = append(sizes, n.size(t))
		t.Logf("cycle %d: %v", cycles+1, sizes[cycles])
	}
	// The first cycles fill pools, caches and connections.
	settled, last := sizes[len(sizes)/2-1], sizes[len(sizes)-1]
	assert.True(t, last.goroutines <= settled.goroutines+20, "goroutines grow: %v", sizes)
	assert.True(t, last.files <= settled.files+20, "open files grow: %v", sizes)
	t.Logf("%d cycles of %d pods in %v: nothing left; after the first %v, after the last %v",
		cycles, *churnPods, time.Since(begin).Round(time.Second), sizes[0], last)
}

// idle is a pod that does nothing, and ends when it is told to.
func (n *node) idle(t *testing.T, name string) *v1.Pod {
	pod := n.pod(t, name, map[string]any{
		"automountServiceAccountToken": true,
		"containers":                   []any{container("main", "", map[string]any{"command": []string{"sleep", "--on-term=0", "infinity"}})},
	})
	return pod
}

// size is what an agent without pods uses.
type size struct {
	goroutines, files int
	memory            string
}

func (s size) String() string {
	return fmt.Sprintf("%d goroutines, %d open files, RSS %s", s.goroutines, s.files, s.memory)
}

var profileTotal = regexp.MustCompile(`goroutine profile: total (\d+)`)

func (n *node) size(t *testing.T) (s size) {
	t.Helper()
	profile := assert.Get(admin.CoreV1().RESTClient().Get().Resource("nodes").Name(n.Name).SubResource("proxy").
		Suffix("debug/pprof/goroutine").Param("debug", "1").DoRaw(t.Context())).Must(t)
	found := profileTotal.FindSubmatch(profile)
	assert.Require(t, found != nil, "no total in %.200q", profile)
	_, _ = fmt.Sscan(string(found[1]), &s.goroutines)
	process := fmt.Sprintf("/proc/%d", n.Process().PID())
	files := assert.Get(os.ReadDir(process + "/fd")).Must(t)
	s.files = len(files)
	status := assert.Get(os.ReadFile(process + "/status")).Must(t)
	for line := range strings.Lines(string(status)) {
		if rss, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			s.memory = strings.TrimSpace(rss)
		}
	}
	return s
}

// leftInRuntime are folders and records of pods that the agent keeps beside those
// that package machine knows.
func leftInRuntime(root machine.Root) []string {
	var left []string
	for _, pattern := range []string{root.Dir + "/lifepod/*.pod.json", root.Dir + "/lifepod/*.checkpoint", root.Dir + "/containers/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			panic(err) // the patterns are right
		}
		left = append(left, found...)
	}
	return left
}
