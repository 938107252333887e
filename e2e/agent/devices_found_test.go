package agent

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestFoundDevicePlugin: a device plugin is found by its socket in plugins_registry (A-PLUG-1, A-DEV-2).
// A pod has its device; when the socket is gone none can be used (A-DEV-4), when there is one again
// the plugin is in use again, also with another agent.
func TestFoundDevicePlugin(t *testing.T) {
	t.Parallel()
	const resource = "example.com/found"
	node := newNode(t, member.Config{})
	plugin := newFoundPlugin(t, node, resource, "a", "b")
	c := newCluster(t, node)
	create := func(name string) {
		c.create(strings.NewReplacer("NAME", name, "RESOURCE", resource).Replace(`
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "ls /dev/own; echo all; exec sleep --on-term 0 3600"], resources: {limits: {memory: 32Mi, RESOURCE: 1}}}
`))
		c.awaitReady(name)
		got := c.devicesOf(name, "main")
		assert.True(t, got == "a all" || got == "b all", "A-DEV-1: pod %s has %q", name, got)
	}
	create("first")
	plugin.server.Stop() // it removes its socket
	awaitDevices(t, node, resource, 2, 0)
	again := newFoundPlugin(t, node, resource, "a", "b")
	create("second")
	again.server.Stop()

	assert.Must(t, node.Kill())
	found := serveOwnPlugin(t, foundSocket(node), resource, "a", "b")
	assert.Must(t, node.Run())
	awaitDevices(t, node, resource, 2, 2)
	c.delete("first")
	create("third")
	found.tell([]string{"a", "b"})
	awaitDevices(t, node, resource, 2, 0)
	for _, name := range []string{"second", "third"} {
		c.await(name, "to run on", func(pod *v1.Pod) bool { return machine.IsReady(pod) && restarts(pod, "main") == 0 })
	}
}
