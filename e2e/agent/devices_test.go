package agent

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// withDevices prints which devices it has, and ends when it is told to, to be restarted in
// place. The container beside it has none.
const withDevices = `
metadata: {name: NAME}
spec:
  PLACE
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: TOOLBOX
    command: [sh, -c, "ls /tmp; echo $CDI_DEVICE; echo all; until [ -e /end ]; do sleep 0.1; done; sleep 1"]
    resources: {limits: {memory: 32Mi, example.com/resource: COUNT}}
  - {name: none, image: TOOLBOX, command: [sh, -c, "ls /tmp; echo all; sleep 3600"], resources: {limits: {memory: 32Mi}}}
`

// devicesOf is the log of a container of withDevices: the files that it was given by the plugin and
// by the runtime's description of the devices, and the last one's variable.
func (c *cluster) devicesOf(pod, container string) string {
	c.t.Helper()
	c.awaitLine(pod, "all", "--container="+container)
	return strings.Join(strings.Fields(c.kubectl("logs", pod, "--container="+container)), " ")
}

// TestDevicePlugin: upstream's sample device plugin has two devices. A pod that has both keeps
// them when it is restarted in place, and when the agent or the plugin is killed; others wait, or are
// refused if nobody asks the scheduler (A-DEV-1, A-DEV-2, A-DEV-4, A-DEV-8, A-DEV-10).
func TestDevicePlugin(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	plugin := newSamplePlugin(t, node)
	c := newCluster(t, node)
	create := func(name, place, count string) {
		c.create(strings.NewReplacer("NAME", name, "PLACE", place, "COUNT", count).Replace(withDevices))
	}
	wantBoth := func(pod, when string) {
		t.Helper()
		assert.Deep(t, fmt.Sprintf("%s container main of %s has", when, pod), "CDI-Dev-1 CDI-Dev-2 Dev-1 Dev-2 CDI-Dev-2 all", c.devicesOf(pod, "main"))
	}
	create("both", "", "2")
	before := c.awaitReady("both")
	wantBoth("both", "A-DEV-1: at first,")
	assert.Deep(t, "the container without devices has", "all", c.devicesOf("both", "none"))

	create("waits", "", "1") // the scheduler knows that there is none left
	c.awaitEvents("waits", func(e *v1.Event) bool {
		return e.Reason == "FailedScheduling" && strings.Contains(e.Message, "Insufficient "+sampleResource)
	})
	create("refused", "nodeName: "+node.Name, "1")
	refused := c.await("refused", "to be refused", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodFailed })
	assert.Deep(t, "A-DEV-8: reason", "UnexpectedAdmissionError", refused.Status.Reason)
	const message = "Pod was rejected: Allocate failed due to requested number of devices unavailable for example.com/resource. Requested: 1, Available: 0, which is unexpected"
	assert.Deep(t, "A-DEV-8: message", message, refused.Status.Message)

	c.kubectl("exec", "both", "--container=main", "--", "touch", "/end")
	c.await("both", "to have restarted", func(pod *v1.Pod) bool {
		status := statusOf(pod, "main")
		return status.RestartCount == 1 && status.State.Running != nil
	})
	wantBoth("both", "A-DEV-10: after a restart in place,")

	restart(t, node)
	awaitDevices(t, node, sampleResource, 0, 0) // its plugin looks for the agent after 10 s
	c.kubectl("exec", "both", "--container=main", "--", "touch", "/end")
	after := c.await("both", "to have restarted again", func(pod *v1.Pod) bool {
		status := statusOf(pod, "main")
		return status.RestartCount == 2 && status.State.Running != nil
	})
	wantBoth("both", "A-DEV-10: after a kill -9 of the agent,")
	assert.Deep(t, "A-DEV-10: the container that was to go on", statusOf(before, "none").ContainerID, statusOf(after, "none").ContainerID)
	awaitDevices(t, node, sampleResource, 2, 2) // it has seen that its socket is gone, and has registered again

	assert.Must(t, plugin.process.Kill())
	awaitDevices(t, node, sampleResource, 2, 0)
	plugin.run()
	awaitDevices(t, node, sampleResource, 2, 2)
	c.delete("both")
	c.awaitReady("waits")
	assert.Deep(t, "A-DEV-9: the pod that waited for devices of the one before has", "CDI-Dev-1 Dev-1 CDI-Dev-1 all", c.devicesOf("waits", "main"))
}
