package agent

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/e2e/member"
)

// TestWorkerWithDevices: the example's worker keeps its two devices when all containers of the pod are
// restarted in place (A-DEV-10). It is not run beside TestDevicePlugin: the plugin's files have fixed names.
func TestWorkerWithDevices(t *testing.T) {
	plane.Needs(t, "RestartAllContainersOnContainerExits")
	node := newNode(t, member.Config{})
	newSamplePlugin(t, node)
	c := newCluster(t, node)
	manifest, err := os.ReadFile("../../examples/cluster/ml-worker-devices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.create(string(manifest))
	pod := c.await("ml-worker-devices", "to its end", func(pod *v1.Pod) bool { return pod.Status.Phase == v1.PodSucceeded })
	if restarts := statusOf(pod, "worker").RestartCount; restarts != 1 {
		t.Errorf("the worker was restarted %d times, want 1", restarts)
	}
	const devices = "CDI-Dev-1\nCDI-Dev-2\nDev-1\nDev-2\n"
	want := "going on from the checkpoint, with the devices of both runs\n" + devices + devices
	if diff := cmp.Diff(want, c.kubectl("logs", pod.Name, "--container=worker")); diff != "" {
		t.Errorf("A-DEV-10: the worker's log (-want +got):\n%s", diff)
	}
}
