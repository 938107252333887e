package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

const ownResource = "own.example.com/gpu"

// usesOwn has both devices of ownPlugin.
const usesOwn = `
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "echo $HAS_g0 $HAS_g1; ls /dev/own; [ -c /dev/own/g1 ] && echo device; echo all; sleep 3600"],
     resources: {limits: {memory: 32Mi, own.example.com/gpu: 2}}}
  - {name: none, image: TOOLBOX, command: [sleep, "3600"], resources: {limits: {memory: 32Mi}}}
`

// TestHealthOfDevices: a device that breaks is no longer for others, and the status of the
// container that has it says so; the container goes on. It does so while the plugin is away
// (A-DEV-1, A-DEV-3, A-DEV-4, A-DEV-12).
func TestHealthOfDevices(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	plugin := newOwnPlugin(t, node, ownResource, "g0", "g1")
	c := newCluster(t, node)
	c.create(usesOwn)
	c.awaitReady("pod")
	assert.Deep(t, "A-DEV-1: what the container has", "yes yes g0 g1 device all", c.devicesOf("pod", "main"))
	awaitHealth := func(g0, g1 v1.ResourceHealthStatus) *v1.Pod {
		t.Helper()
		want := []v1.ResourceStatus{{Name: ownResource, Resources: []v1.ResourceHealth{{ResourceID: "g0", Health: g0}, {ResourceID: "g1", Health: g1}}}}
		return c.await("pod", "to show "+string(g0)+", "+string(g1), func(pod *v1.Pod) bool {
			return cmp.Equal(want, statusOf(pod, "main").AllocatedResourcesStatus)
		})
	}
	const healthy, unhealthy = v1.ResourceHealthStatusHealthy, v1.ResourceHealthStatusUnhealthy
	before := awaitHealth(healthy, healthy)
	assert.Empty(t, statusOf(before, "none").AllocatedResourcesStatus, "A-DEV-12: the container without devices shows")

	plugin.tell([]string{"g1"}, "g0")
	awaitDevices(t, node, ownResource, 2, 1)
	after := awaitHealth(healthy, unhealthy)
	assert.Deep(t, "A-DEV-12: the pod before and after its device broke", lifeOf(before), lifeOf(after), cmp.AllowUnexported(life{}))
	plugin.server.Stop()
	awaitDevices(t, node, ownResource, 2, 0)
	awaitHealth(healthy, unhealthy)
	plugin = newOwnPlugin(t, node, ownResource, "g0", "g1")
	awaitHealth(healthy, healthy)
	plugin.tell([]string{"g0", "g1"})
	awaitHealth(unhealthy, unhealthy)
	awaitDevices(t, node, ownResource, 2, 0)
	c.delete("pod")
}
