package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// TestResizeWhole: the resources of a pod as a whole grow and shrink while it runs, in its cgroup and in those of the containers that
// declare no limit, which are restarted if they want that (A-ACT-16, A-ACT-17, A-ACT-18, A-CST-19).
func TestResizeWhole(t *testing.T) {
	t.Parallel()
	plane.Needs(t, "InPlacePodLevelResourcesVerticalScaling")
	c := newCluster(t, shared)
	c.create(`
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  resources: {requests: {cpu: 10m, memory: 100Mi}, limits: {cpu: 200m, memory: 128Mi}}
  containers:
  - {name: follows, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"]}
  - {name: keeps, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resources: {limits: {memory: 64Mi}}}
  - {name: restarts, image: TOOLBOX, command: [sleep, --on-term, "0", "3600"], resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]}
`)
	c.awaitReady("pod")
	for restarts, size := range []struct {
		of    string
		bytes int64
	}{
		{"", 128 << 20},
		{`{"requests":{"cpu":"20m","memory":"200Mi"},"limits":{"cpu":"400m","memory":"256Mi"}}`, 256 << 20},
		{`{"requests":{"cpu":"10m","memory":"90Mi"},"limits":{"cpu":"100m","memory":"96Mi"}}`, 96 << 20},
	} {
		if size.of != "" {
			c.kubectl("patch", "pod", "pod", "--subresource=resize", `--patch={"spec":{"resources":`+size.of+`}}`)
		}
		pod := c.await("pod", "to its new size", func(pod *v1.Pod) bool { return machine.IsReady(pod) && settled(pod) })
		if !equality.Semantic.DeepEqual(pod.Status.Resources, pod.Spec.Resources) || !equality.Semantic.DeepEqual(pod.Status.AllocatedResources, pod.Spec.Resources.Requests) {
			t.Errorf("the status shows %+v, allocated %v, want %+v", pod.Status.Resources, pod.Status.AllocatedResources, pod.Spec.Resources)
		}
		checkMemoryOfPod(t, pod, size.bytes)
		for name, want := range map[string]int64{"follows": size.bytes, "keeps": 64 << 20, "restarts": size.bytes} {
			got := strings.TrimSpace(c.kubectl("exec", "pod", "--container="+name, "--", "sh", "-c", limitOfMemory))
			assert.True(t, got == fmt.Sprint(want), "container %s has the limit %s, want %d", name, got, want)
		}
		var got []int32
		for _, s := range pod.Status.ContainerStatuses {
			got = append(got, s.RestartCount)
		}
		want := []int32{0, 0, int32(restarts)}
		assert.True(t, slices.Equal(got, want), "restarts of %s: %v, want %v", size.of, got, want)
	}
	c.kubectl("patch", "pod", "pod", "--subresource=resize", `--patch={"spec":{"resources":{"requests":{"memory":"64Ki"},"limits":{"memory":"64Ki"}},"containers":[{"name":"keeps","resources":{"limits":{"memory":"64Ki"},"requests":{"memory":"64Ki"}}}]}}`)
	pod := c.await("pod", "to tell that it uses more", func(pod *v1.Pod) bool {
		return machine.PodCondition(pod, v1.PodResizeInProgress).Reason == v1.PodReasonError
	})
	message := machine.PodCondition(pod, v1.PodResizeInProgress).Message
	assert.True(t, strings.Contains(message, "attempting to set pod memory limit (65536) below current usage"), "why the pod is not made smaller: %s", message)
	checkMemoryOfPod(t, pod, 96<<20)
	c.awaitEvent("pod", v1.EventTypeNormal, "ResizeCompleted")
}

// TestResizeWholeDeferred: a resize of a pod as a whole waits for room over a kill -9 of the agent, and is carried out as soon as
// there is some (A-ADM-8, A-ACT-15, A-ACT-16).
func TestResizeWholeDeferred(t *testing.T) {
	t.Parallel()
	plane.Needs(t, "InPlacePodLevelResourcesVerticalScaling")
	c := newCluster(t, newNode(t, member.Config{}))
	cpu := c.allocatableCPU()
	big := strings.Replace(onNode("big", c.node.Name, fmt.Sprintf("resources: {requests: {cpu: %dm}}", cpu-300)), "limits:", "requests: {cpu: 10m}, limits:", 1)
	c.create(big)
	c.create(onNode("grows", c.node.Name, "resources: {requests: {cpu: 100m}, limits: {cpu: 500m}}"))
	ends, grows := c.awaitReady("big"), c.awaitReady("grows")
	c.kubectl("patch", "pod", "grows", "--subresource=resize", `--patch={"spec":{"resources":{"requests":{"cpu":"400m"}}}}`)
	waits := c.await("grows", "to wait for room", func(pod *v1.Pod) bool {
		return machine.PodCondition(pod, v1.PodResizePending).Status == v1.ConditionTrue
	})
	want := fmt.Sprintf("Deferred: Node didn't have enough resource: cpu, requested: 400, used: %d, capacity: %d", cpu-300, cpu)
	if pending := machine.PodCondition(waits, v1.PodResizePending); pending.Reason+": "+pending.Message != want || waits.Status.AllocatedResources.Cpu().String() != "100m" {
		t.Errorf("the resize that waits: %s: %s, allocated %v, want %s", pending.Reason, pending.Message, waits.Status.AllocatedResources, want)
	}
	assert.Must(t, c.node.Kill())
	assert.Must(t, c.node.Run())
	c.kubectl("delete", "pod", "big", "--wait=false")
	c.untilDeleted(ends)
	after := c.await("grows", "to its new size", func(pod *v1.Pod) bool {
		return pod.Status.AllocatedResources.Cpu().MilliValue() == 400 && settled(pod)
	})
	was, is := grows.Status.ContainerStatuses[0].ContainerID, after.Status.ContainerStatuses[0].ContainerID
	assert.True(t, was == is, "the container is %s after the resize, was %s", is, was)
}

// settled says that the node has judged the pod's newest spec and nothing of a resize is left to do.
func settled(pod *v1.Pod) bool {
	return pod.Status.ObservedGeneration == pod.Generation &&
		machine.PodCondition(pod, v1.PodResizePending).Status == "" && machine.PodCondition(pod, v1.PodResizeInProgress).Status == ""
}

// limitOfMemory prints the limit of a container, of cgroup v1 or v2.
const limitOfMemory = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max"

// checkMemoryOfPod compares the limit of a pod's cgroup, of cgroup v1 or v2.
func checkMemoryOfPod(t *testing.T, pod *v1.Pod, want int64) {
	t.Helper()
	files := slices.Concat(filesOfCgroup(t, pod, "memory.limit_in_bytes"), filesOfCgroup(t, pod, "memory.max"))
	assert.True(t, len(files) != 0, "the pod's cgroup has no limit of memory")
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.True(t, err == nil && strings.TrimSpace(string(text)) == fmt.Sprint(want), "%s is %s, want %d (%v)", file, text, want, err)
	}
}
