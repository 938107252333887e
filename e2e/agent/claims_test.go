package agent

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// twoDevices prints which devices it has, and ends when it is told to, to be restarted in
// place. The container beside it has none.
const twoDevices = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: one, exactly: {deviceClassName: DRIVER}}, {name: two, exactly: {deviceClassName: DRIVER}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  nodeSelector: {kubernetes.io/hostname: NODE}
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
  containers:
  - {name: both, image: TOOLBOX, command: [sh, -c, "env | grep claim_; echo all; until [ -e /tmp/end ]; do sleep 0.1; done; sleep 1"],
     resources: {claims: [{name: gpus}], limits: {memory: 32Mi}}}
  - {name: second, image: TOOLBOX, command: [sh, -c, "env | grep claim_; echo all; sleep 3600"], resources: {claims: [{name: gpus, request: two}], limits: {memory: 32Mi}}}
  - {name: none, image: TOOLBOX, command: [sh, -c, "env | grep claim_; echo all; sleep 3600"], resources: {limits: {memory: 32Mi}}}
`

// TestResourceClaims: containers have the devices of the claims that they name, keep them
// when they are restarted in place, and leave nothing prepared (A-DRA-2, A-DRA-7, A-DRA-8).
func TestResourceClaims(t *testing.T) {
	t.Parallel()
	d := newDeviceDriver(t, shared, "claims.example.com")
	c := newCluster(t, shared)
	c.apply(strings.ReplaceAll(twoDevices, "DRIVER", d.name))
	c.awaitReady("pod")
	wantDevices := func(container string, want ...string) {
		t.Helper()
		c.awaitLine("pod", "all", "--container="+container)
		var got []string
		for line := range strings.Lines(c.kubectl("logs", "pod", "--container="+container)) {
			if variable, isSet := strings.CutSuffix(strings.TrimSpace(line), "=true"); isSet {
				got = append(got, variable[strings.LastIndex(variable, "_")+1:])
			}
		}
		slices.Sort(got)
		assert.True(t, slices.Equal(got, want), "container %s has the devices %v, want %v", container, got, want)
	}
	wantDevices("both", "one", "two")
	wantDevices("second", "two")
	wantDevices("none")
	d.wantPrepared(2)
	d.process.MarkLog()
	c.kubectl("exec", "pod", "--container=both", "--", "touch", "/tmp/end")
	c.await("pod", "to have restarted", func(pod *v1.Pod) bool {
		status := statusOf(pod, "both")
		return status.RestartCount == 1 && status.State.Running != nil
	})
	wantDevices("both", "one", "two")
	assert.True(t, !strings.Contains(string(d.process.LogSinceMark()), "NodePrepareResources"),
		"the claims of a pod that goes on were prepared again")
	c.delete("pod")
	d.wantPrepared(0)
}

const sharedClaim = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: one, exactly: {deviceClassName: DRIVER}}]}}
`

const userOfClaim = `
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "env | grep claim_; sleep 3600"], resources: {claims: [{name: gpu}], limits: {memory: 32Mi}}}
`

// TestSharedClaim: two pods have the same device, and the last one gives it back (A-DRA-8).
func TestSharedClaim(t *testing.T) {
	t.Parallel()
	d := newDeviceDriver(t, shared, "shared.example.com")
	c := newCluster(t, shared)
	c.apply(strings.ReplaceAll(sharedClaim, "DRIVER", d.name))
	for _, name := range []string{"a", "b"} {
		c.create(strings.ReplaceAll(userOfClaim, "NAME", name))
		c.awaitReady(name)
		c.awaitLine(name, "claim_gpu_one=true")
	}
	c.delete("a")
	d.wantPrepared(1)
	c.delete("b")
	d.wantPrepared(0)
}

// TestDriverFaults: a driver that hangs holds up its own pods, which end nevertheless; so
// they do after a kill -9 of the agent, and nothing stays prepared. A driver that is away
// holds up the end of its pods until it is back (A-DRA-6, A-DRA-9).
func TestDriverFaults(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	d := newDeviceDriver(t, node, "faults.example.com")
	c := newCluster(t, node)
	c.apply(strings.ReplaceAll(sharedClaim, "DRIVER", d.name))
	d.hang() // at Prepare; other pods start
	c.create(strings.ReplaceAll(userOfClaim, "NAME", "hangs"))
	c.create(modest)
	c.awaitReady("modest")
	d.awaitAsked("gpu")
	restart(t, node)
	d.goOn()
	c.awaitReady("hangs")
	c.awaitLine("hangs", "claim_gpu_one=true")

	d.hang() // at Unprepare
	c.beginDeletion("hangs")
	c.await("hangs", "to have no container that runs", func(pod *v1.Pod) bool { return pod.DeletionTimestamp != nil && !machine.IsReady(pod) })
	d.wantPrepared(1)
	restart(t, node)
	d.goOn()
	assert.Must(t, c.untilGone(t.Context(), "hangs"))
	d.wantPrepared(0)

	c.create(strings.ReplaceAll(userOfClaim, "NAME", "orphan")) // at the end of a pod whose driver is away
	c.awaitReady("orphan")
	assert.Must(t, d.process.Kill())
	c.apply(strings.ReplaceAll(strings.ReplaceAll(sharedClaim, "DRIVER", d.name), "{name: gpu}", "{name: another}"))
	c.create(strings.NewReplacer("NAME", "late", "resourceClaimName: gpu", "resourceClaimName: another").Replace(userOfClaim))
	c.awaitEvent("late", v1.EventTypeWarning, "FailedPrepareDynamicResources")
	d.run()
	c.awaitReady("late")
	c.delete("orphan")
	c.delete("late")
}

// TestKilledWhilePreparing: of two drivers one has prepared its device when the agent is
// killed. The next agent has the pod go on with that one, and nothing stays prepared (A-DRA-5).
func TestKilledWhilePreparing(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	first, second := newDeviceDriver(t, node, "a.killed.example.com"), newDeviceDriver(t, node, "b.killed.example.com")
	c := newCluster(t, node)
	c.apply(strings.ReplaceAll(sharedClaim, "DRIVER", first.name))
	c.apply(strings.NewReplacer("DRIVER", second.name, "name: gpu", "name: another").Replace(sharedClaim))
	second.hang()
	c.create(strings.NewReplacer("NAME", "pod", "resourceClaimName: gpu}]", "resourceClaimName: gpu}, {name: another, resourceClaimName: another}]",
		"claims: [{name: gpu}]", "claims: [{name: gpu}, {name: another}]").Replace(userOfClaim))
	first.awaitPrepared(1)
	restart(t, node)
	second.goOn()
	c.awaitReady("pod")
	c.awaitLine("pod", "claim_gpu_one=true")
	c.awaitLine("pod", "claim_another_one=true")
	first.wantPrepared(1)
	second.wantPrepared(1)
	c.delete("pod")
	first.wantPrepared(0)
	second.wantPrepared(0)
}

// beginDeletion deletes a pod without waiting for its end.
func (c *cluster) beginDeletion(pod string) {
	c.t.Helper()
	assert.Must(c.t, client.CoreV1().Pods(c.namespace).Delete(c.t.Context(), pod, *metav1.NewDeleteOptions(1)))
}

// restart ends a node by kill -9 and starts it again.
func restart(t *testing.T, node *member.Member) {
	t.Helper()
	assert.Must(t, node.Kill(), node.Run())
	assert.Must(t, node.AwaitHealthy(t.Context()))
}

func statusOf(pod *v1.Pod, container string) v1.ContainerStatus {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == container {
			return status
		}
	}
	return v1.ContainerStatus{}
}
