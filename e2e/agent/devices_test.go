package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/machine"
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

// TestWorkerWithDevices: the example's worker keeps its two devices when all containers of the pod are
// restarted in place (A-DEV-10). It is not run beside TestDevicePlugin: the plugin's files have fixed names.
func TestWorkerWithDevices(t *testing.T) {
	plane.Needs(t, "RestartAllContainersOnContainerExits")
	node := newNode(t, member.Config{})
	newSamplePlugin(t, node)
	c := newCluster(t, node)
	manifest := assert.Get(os.ReadFile("../../examples/cluster/ml-worker-devices.yaml")).Must(t)
	c.create(string(manifest))
	pod := c.await("ml-worker-devices", "to its end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })
	assert.Deep(t, "how often the worker was restarted", int32(1), statusOf(pod, "worker").RestartCount)
	const devices = "CDI-Dev-1\nCDI-Dev-2\nDev-1\nDev-2\n"
	want := "going on from the checkpoint, with the devices of both runs\n" + devices + devices
	assert.Deep(t, "A-DEV-10: the worker's log", want, c.kubectl("logs", pod.Name, "--container=worker"))
}

// TestWorkerWithClaim: so does the example's worker with two GPUs of a claim (A-DRA-7). It is not run
// beside TestGPUWorker, which has the same driver.
func TestWorkerWithClaim(t *testing.T) {
	plane.Needs(t, "RestartAllContainersOnContainerExits")
	node := newNode(t, member.Config{})
	newExampleDriver(t, node)
	c := newCluster(t, node)
	manifest := assert.Get(os.ReadFile("../../examples/cluster/ml-worker-claim.yaml")).Must(t)
	c.apply(string(manifest))
	c.await("ml-worker-claim", "to its end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })
	log := c.kubectl("logs", "ml-worker-claim", "--container=worker")
	said, gpus, _ := strings.Cut(log, "\n")
	assert.True(t, said == "going on from the checkpoint, with the GPUs of both runs", "the worker has not gone on: %s", log)
	lines := strings.Fields(gpus)
	half := len(lines) / 2
	slices.Sort(lines[:half]) // variables have no order
	slices.Sort(lines[half:])
	assert.True(t, half == 2 && slices.Equal(lines[:half], lines[half:]), "A-DRA-7: the worker's GPUs in both runs are %q, want the same two", lines)
}
