package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// newTakenOver is a node of a kubelet, whose place another program takes.
func newTakenOver(t *testing.T, configuration map[string]any) *member.Member {
	t.Helper()
	kubelet := plane.Binary("kubelet")
	_, err := os.Stat(kubelet)
	assert.Require(t, err == nil, "%v: run `make kubelet` first", err)
	configuration["containerRuntimeEndpoint"], configuration["enforceNodeAllocatable"] = startRuntime(t), []string{}
	return newNode(t, member.Config{Program: kubelet, Kubelet: configuration})
}

// succeed ends a node's program and has another take its place.
func succeed(t *testing.T, node *member.Member, program string) {
	t.Helper()
	assert.Must(t, node.Stop())
	node.Become(program)
	assert.Must(t, node.Run())
	assert.Must(t, node.AwaitHealthy(t.Context()))
	assert.Must(t, node.AwaitReady(t.Context()))
}

// unharmed fails the test unless a pod is the same that it was, and runs.
func (c *cluster) unharmed(before *v1.Pod, when string) {
	c.t.Helper()
	now := c.awaitReady(before.Name)
	assert.True(c.t, now.UID == before.UID, "%s: pod %s is another one", when, before.Name)
	for i, s := range now.Status.ContainerStatuses {
		if was := before.Status.ContainerStatuses[i]; s.RestartCount != was.RestartCount || s.ContainerID != was.ContainerID {
			c.t.Errorf("%s: container %s of pod %s is another one: %+v", when, s.Name, before.Name, s)
		}
	}
}

// TestTakeoverOfCPUs: lifepod takes the place of a kubelet whose pods have CPUs for themselves,
// and gives it back: everybody stays where he is, and nobody gets what another one has (A-NUMA-14).
func TestTakeoverOfCPUs(t *testing.T) {
	t.Parallel()
	n := runtime.NumCPU()
	if n < 2 {
		t.Skip("the machine has one CPU")
	}
	last, rest, all := fmt.Sprint(n-1), "0", fmt.Sprintf("0-%d", n-1)
	if n > 2 {
		rest = fmt.Sprintf("0-%d", n-2)
	}
	node := newTakenOver(t, map[string]any{"cpuManagerPolicy": "static", "reservedSystemCPUs": rest})
	c := newCluster(t, node)
	c.create(pinnable("owns", wholeCPU))
	c.create(pinnable("shares", noCPU))
	owns, shares := c.awaitReady("owns"), c.awaitReady("shares")
	c.awaitCPUs("owns", last)
	c.awaitCPUs("shares", rest)
	c.wantGivenCPUs("the kubelet", 1)

	succeed(t, node, binary)
	c.unharmed(owns, "after the kubelet")
	c.unharmed(shares, "after the kubelet")
	c.awaitCPUs("owns", last)
	c.awaitCPUs("shares", rest)
	c.wantGivenCPUs("lifepod after the kubelet", 1) // A-NUMA-19
	c.create(pinnable("later", noCPU))
	c.awaitReady("later")
	c.awaitCPUs("later", rest)
	c.create(strings.Replace(pinnable("refused", wholeCPU), "spec:", "spec:\n  nodeName: "+node.Name, 1))
	refused := c.await("refused", "to be refused", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	assert.True(t, refused.Status.Reason == "UnexpectedAdmissionError", // A-NUMA-2
		"a second pod for the last CPU is refused as %s: %s", refused.Status.Reason, refused.Status.Message)
	c.delete("owns")
	c.awaitCPUs("shares", all)
	c.create(pinnable("next", wholeCPU))
	next := c.awaitReady("next")
	c.awaitCPUs("next", last)

	succeed(t, node, plane.Binary("kubelet"))
	c.create(pinnable("last", noCPU))
	c.awaitReady("last") // a kubelet that has just begun knows no pods to run a command in
	c.awaitCPUs("last", rest)
	c.unharmed(next, "after lifepod")
	c.unharmed(shares, "after lifepod")
	c.awaitCPUs("next", last)
	c.awaitCPUs("shares", rest)
	c.wantGivenCPUs("the kubelet after lifepod", 1)
	succeed(t, node, binary) // which ends the pods
}

// wantGivenCPUs asks for the metric of how many CPUs are somebody's.
func (c *cluster) wantGivenCPUs(when string, want int) {
	c.t.Helper()
	page := c.kubectl("get", "--raw", "/api/v1/nodes/"+c.node.Name+"/proxy/metrics")
	line := fmt.Sprintf("\nkubelet_cpu_manager_exclusive_cpu_allocation_count %d\n", want)
	assert.True(c.t, strings.Contains(page, line), "%s: the metrics have no line%s", when, line)
}

// TestTakeoverOfClaims: lifepod takes the place of a kubelet whose pods have devices of resource claims,
// and gives it back: nothing is prepared twice, and everything is given back (A-DRA-5).
func TestTakeoverOfClaims(t *testing.T) {
	t.Parallel()
	node := newTakenOver(t, map[string]any{})
	d := newDeviceDriver(t, node, "taken.example.com")
	c := newCluster(t, node)
	pod := func(name string) string {
		return strings.NewReplacer("DRIVER", d.name, "name: pod", "name: "+name).Replace(twoDevices)
	}
	c.apply(pod("of-kubelet"))
	before := c.awaitReady("of-kubelet")
	d.wantPrepared(2)

	d.process.MarkLog()
	succeed(t, node, binary)
	c.unharmed(before, "after the kubelet")
	c.kubectl("exec", "of-kubelet", "--container=both", "--", "touch", "/tmp/end")
	c.await("of-kubelet", "to have restarted", func(pod *v1.Pod) bool { return restarts(pod, "both") == 1 && machine.IsReady(pod) })
	c.awaitLine("of-kubelet", "all", "--container=both")
	log := c.kubectl("logs", "of-kubelet", "--container=both") // A-DRA-7
	assert.True(t, strings.Count(log, "=true") == 2, "the container that was restarted has other devices: %s", log)
	assert.True(t, !strings.Contains(string(d.process.LogSinceMark()), "NodePrepareResources"),
		"claims that the kubelet has prepared are prepared again")
	c.apply(pod("of-lifepod"))
	later := c.awaitReady("of-lifepod")
	d.wantPrepared(4)
	c.delete("of-kubelet")
	d.awaitPrepared(2)

	succeed(t, node, plane.Binary("kubelet"))
	c.unharmed(later, "after lifepod")
	c.delete("of-lifepod")
	d.awaitPrepared(0)
	assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(node.RootDir(), "dra_manager_state"))))
	succeed(t, node, binary)
}
