package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// onNode is a pod that is bound to the node, with more fields of its spec.
func onNode(name, node, spec string) string {
	return strings.NewReplacer("NAME", name, "NODE", node, "SPEC", spec).Replace(`
metadata: {name: NAME, labels: {app: NAME}}
spec:
  SPEC
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: NODE}
  containers:
  - {name: main, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resources: {limits: {memory: 64Mi}}}
`)
}

// TestMaintenance takes a node out of service the ways that operators do.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	c := newCluster(t, newNode(t, member.Config{Kubelet: map[string]any{"maxPods": 2}}))
	c.create(onNode("guarded", c.node.Name, "restartPolicy: Always"))
	c.create(onNode("other", c.node.Name, "restartPolicy: Always"))
	guarded, other := c.awaitReady("guarded"), c.awaitReady("other")
	c.checkFull()
	c.kubectl("create", "poddisruptionbudget", "guard", "--selector=app=guarded", "--min-available=1")
	c.kubectl("wait", "--for=jsonpath={.status.currentHealthy}=1", "poddisruptionbudget/guard", "--timeout=60s")
	complaint := c.kubectlFails("drain", c.node.Name, "--force", "--ignore-daemonsets", "--timeout=1s")
	want := "Cannot evict pod as it would violate the pod's disruption budget."
	assert.True(t, strings.Contains(complaint, want), "kubectl drain complained\n%s\nwant %q", complaint, want)
	if last := c.untilDeleted(other); machine.PodCondition(last, v1.DisruptionTarget).Reason != "EvictionByEvictionAPI" {
		t.Errorf("the pod was drained with conditions %v, want DisruptionTarget for the eviction", last.Status.Conditions)
	}
	c.kubectl("delete", "poddisruptionbudget", "guard")
	c.kubectl("drain", c.node.Name, "--force", "--ignore-daemonsets", "--timeout=60s")
	c.untilDeleted(guarded)
	c.kubectl("uncordon", c.node.Name)

	c.create(onNode("tolerates", c.node.Name, "tolerations: [{key: example.com/away, operator: Exists}]"))
	c.create(onNode("leaves", c.node.Name, "restartPolicy: Always"))
	c.awaitReady("tolerates")
	leaves := c.awaitReady("leaves")
	c.kubectl("taint", "node", c.node.Name, "example.com/away=:NoExecute")
	if last := c.untilDeleted(leaves); machine.PodCondition(last, v1.DisruptionTarget).Reason != "DeletionByTaintManager" {
		t.Errorf("the pod left with conditions %v, want DisruptionTarget for the taint", last.Status.Conditions)
	}
	c.create(onNode("refused", c.node.Name, "nodeName: "+c.node.Name))
	c.awaitEvent("refused", v1.EventTypeWarning, "TaintToleration")
	assert.True(t, machine.IsReady(c.awaitReady("tolerates")), "the pod that tolerates the taint is not ready")
}

// TestLabelChange: a pod that runs stays when the node loses the label that brought it
// there, whatever happens to the agent; another is refused (B-RST-2).
func TestLabelChange(t *testing.T) {
	t.Parallel()
	c := newCluster(t, newNode(t, member.Config{}))
	c.kubectl("label", "node", c.node.Name, "example.com/disk=fast")
	fast := func(name, spec string) string {
		return strings.Replace(onNode(name, c.node.Name, spec), "nodeSelector: {", "nodeSelector: {example.com/disk: fast, ", 1)
	}
	c.create(fast("stays", "restartPolicy: Always"))
	before := c.awaitReady("stays")
	c.kubectl("label", "node", c.node.Name, "example.com/disk-")
	restart(t, c.node)
	c.kubectl("exec", "stays", "--", "true")
	assert.Deep(t, "the pod before and after", lifeOf(before), lifeOf(c.awaitReady("stays")), cmp.AllowUnexported(life{}))
	c.create(fast("refused", "nodeName: "+c.node.Name))
	pod := c.await("refused", "to be refused", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	assert.Deep(t, "reason", "NodeAffinity", pod.Status.Reason)
}

// checkFull: a pod more than the node takes is refused (A-ADM-4).
func (c *cluster) checkFull() {
	c.t.Helper()
	c.create(onNode("toomany", c.node.Name, "nodeName: "+c.node.Name))
	pod := c.await("toomany", "to be refused", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	want := "OutOfpods: Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2"
	assert.Deep(c.t, "why the pod was refused", want, pod.Status.Reason+": "+pod.Status.Message)
	c.delete("toomany")
}

// TestRoomOnTheNode: a resize waits for room and is carried out as soon as there is some;
// a critical pod makes room for itself (A-ACT-15, B-PRE-2).
func TestRoomOnTheNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, newNode(t, member.Config{}))
	cpu := c.allocatableCPU()
	c.create(onNode("big", c.node.Name, fmt.Sprintf("resources: {requests: {cpu: %dm}}", cpu-300)))
	c.create(strings.Replace(onNode("grows", c.node.Name, "restartPolicy: Always"), "limits:", "requests: {cpu: 100m}, limits:", 1))
	big, grows := c.awaitReady("big"), c.awaitReady("grows")
	c.kubectl("patch", "pod", "grows", "--subresource=resize",
		`--patch={"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"400m"}}}]}}`)
	waits := c.await("grows", "to wait for room", func(pod *v1.Pod) bool {
		return machine.PodCondition(pod, v1.PodResizePending).Status == v1.ConditionTrue
	})
	want := fmt.Sprintf("Deferred: Node didn't have enough resource: cpu, requested: 400, used: %d, capacity: %d", cpu-300, cpu)
	pending := machine.PodCondition(waits, v1.PodResizePending)
	assert.Deep(t, "the resize that waits", want, pending.Reason+": "+pending.Message)
	c.kubectl("delete", "pod", "big", "--wait=false")
	c.untilDeleted(big)
	after := c.await("grows", "to its new size", func(pod *v1.Pod) bool {
		return pod.Status.ContainerStatuses[0].AllocatedResources.Cpu().MilliValue() == 400 && len(pod.Status.Conditions) == 5
	})
	assert.Deep(t, "the container after the resize", grows.Status.ContainerStatuses[0].ContainerID, after.Status.ContainerStatuses[0].ContainerID)
	critical := onNode("critical", c.node.Name, "priorityClassName: system-node-critical\n  nodeName: "+c.node.Name)
	c.create(strings.Replace(critical, "limits:", fmt.Sprintf("requests: {cpu: %dm}, limits:", cpu-100), 1))
	victim := c.await("grows", "to make room", func(pod *v1.Pod) bool { return lifecycle.Terminal(pod.Status.Phase) })
	assert.True(t, victim.Status.Phase == v1.PodFailed && victim.Status.Reason == "Preempting", // although its container ended with 0
		"the victim is %s with the reason %q, want Failed, Preempting (B-WRK-12)", victim.Status.Phase, victim.Status.Reason)
	target := machine.PodCondition(victim, v1.DisruptionTarget)
	assert.True(t, target.Reason == "TerminationByKubelet" &&
		target.Message == "Pod was preempted by Kubelet to accommodate a critical pod.", "condition DisruptionTarget %+v", target)
	c.awaitReady("critical")
}

// allocatableCPU is what the node's pods may have, in thousandths of a CPU.
func (c *cluster) allocatableCPU() int64 {
	c.t.Helper()
	var node v1.Node
	assert.Must(c.t, client.CoreV1().RESTClient().Get().Resource("nodes").Name(c.node.Name).Do(c.t.Context()).Into(&node))
	return node.Status.Allocatable.Cpu().MilliValue()
}
