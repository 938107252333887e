package agent

import (
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

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
