package agent

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// pinnable is a pod that says on request on which CPUs it runs.
func pinnable(name, resources string) string {
	return strings.NewReplacer("NAME", name, "RESOURCES", resources).Replace(`
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resources: RESOURCES}
`)
}

const (
	wholeCPU = "{limits: {cpu: 1, memory: 64Mi}}"
	noCPU    = "{limits: {memory: 64Mi}}"
)

// awaitCPUs waits until a pod runs on some CPUs.
func (c *cluster) awaitCPUs(pod, want string) {
	c.t.Helper()
	c.kubectl("exec", pod, "--", "sh", "-c", fmt.Sprintf(`while [ "$(grep Cpus_allowed_list /proc/1/status)" != "Cpus_allowed_list:	%s" ]; do sleep 0.05; done`, want))
}

// TestExclusiveCPUs gives a pod the last CPU of the machine for itself: others leave it at once,
// and have it back when the pod has ended, whatever happens to the agent.
func TestExclusiveCPUs(t *testing.T) {
	t.Parallel()
	n := runtime.NumCPU()
	if n < 2 {
		t.Skip("the machine has one CPU")
	}
	last, rest, all := fmt.Sprint(n-1), "0", fmt.Sprintf("0-%d", n-1)
	if n > 2 {
		rest = fmt.Sprintf("0-%d", n-2)
	}
	c := newCluster(t, newNode(t, member.Config{Kubelet: map[string]any{"cpuManagerPolicy": "static", "reservedSystemCPUs": rest}}))
	c.create(pinnable("shares", noCPU))
	c.awaitReady("shares")
	c.awaitCPUs("shares", all)

	c.create(pinnable("owns", wholeCPU))
	c.awaitReady("owns")
	c.awaitCPUs("owns", last)   // A-NUMA-3
	c.awaitCPUs("shares", rest) // A-NUMA-17
	c.create(pinnable("late", noCPU))
	c.awaitReady("late")
	c.awaitCPUs("late", rest)
	quota := c.kubectl("exec", "owns", "--", "sh", "-c", "cat /sys/fs/cgroup/cpu.max || cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	assert.True(t, strings.Contains(quota, "-1") || strings.Contains(quota, "max 100000"), "A-NUMA-18: who has a CPU for itself is throttled: %s", quota)

	c.create(strings.Replace(pinnable("second", wholeCPU), "spec:", "spec:\n  nodeName: "+c.node.Name, 1))
	refused := c.await("second", "to be refused", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	const why = "Pod was rejected: Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, which is unexpected"
	assert.True(t, refused.Status.Reason == "UnexpectedAdmissionError" && refused.Status.Message == why, // A-NUMA-2
		"the second pod is refused as %s: %s", refused.Status.Reason, refused.Status.Message)
	c.kubectl("patch", "pod", "owns", "--subresource=resize", "--patch", `{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"500m"}}}]}}`)
	owns := c.await("owns", "to tell of its resize", func(pod *v1.Pod) bool { return machine.PodCondition(pod, v1.PodResizePending).Reason != "" })
	if pending := machine.PodCondition(owns, v1.PodResizePending); pending.Reason != v1.PodReasonInfeasible || pending.Message != `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"` { // A-ACT-15
		t.Errorf("the resize is %s: %s", pending.Reason, pending.Message)
	}

	assert.Must(t, c.node.Kill())
	assert.Must(t, c.node.Run())
	assert.Must(t, c.node.AwaitReady(t.Context()))
	c.create(pinnable("later", noCPU))
	c.awaitReady("later")
	c.awaitCPUs("later", rest) // A-NUMA-14
	c.awaitCPUs("owns", last)
	c.delete("owns")
	for _, pod := range []string{"shares", "late", "later"} {
		c.awaitCPUs(pod, all) // A-NUMA-17
	}
	c.create(pinnable("next", wholeCPU))
	c.awaitReady("next")
	c.awaitCPUs("next", last)
}
