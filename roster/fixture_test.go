package roster

import (
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

const sourceAnnotation = "kubernetes.io/config.source"

// begin of all transcripts and walks.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// podOf is a pod with one container.
func podOf(source Source, name string, uid types.UID) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid, Generation: 1}}
	pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	pod.Spec.TerminationGracePeriodSeconds = new(int64(30))
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: "img:1"}}
	if source != API {
		pod.Annotations = map[string]string{sourceAnnotation: string(source)}
	}
	return pod
}

// gpu is a resource of which devices are given by name.
const gpu v1.ResourceName = "example.com/gpu"

func asksForDevices(pod *v1.Pod) bool { return limits(pod, gpu) }

func cpus(amount string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)}
}

func nodeOf(cpu string, labels map[string]string) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}}
	node.Status.Allocatable = cpus(cpu)
	maps.Copy(node.Status.Allocatable, v1.ResourceList{v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")})
	return node
}

// statusOf is a status of a pod of podOf. Without an amount it doesn't tell what was
// allocated.
func statusOf(phase v1.PodPhase, allocatedCPU string) v1.PodStatus {
	main := v1.ContainerStatus{Name: "main", ContainerID: "cri://1"}
	if allocatedCPU != "" {
		main.AllocatedResources = cpus(allocatedCPU)
		main.Resources = &v1.ResourceRequirements{Requests: cpus(allocatedCPU)}
	}
	return v1.PodStatus{Phase: phase, ContainerStatuses: []v1.ContainerStatus{main}}
}

// statusOfPod is a status of a pod that runs and was allocated an amount: as a whole, if it
// asks for resources as a whole, or for its container. A pod that asks for nothing has a status without
// an amount: such as one that only the runtime has.
func statusOfPod(pod *v1.Pod, allocatedCPU string) v1.PodStatus {
	if pod.Spec.Resources == nil && cpuOf(pod).IsZero() {
		return statusOf(v1.PodRunning, "")
	}
	if pod.Spec.Resources == nil {
		return statusOf(v1.PodRunning, allocatedCPU)
	}
	status := statusOf(v1.PodRunning, pod.Spec.Containers[0].Resources.Requests.Cpu().String())
	status.AllocatedResources, status.Resources = cpus(allocatedCPU), &v1.ResourceRequirements{Requests: cpus(allocatedCPU)}
	return status
}

// seenOf is what the runtime has of a pod in its attempt of that number.
func seenOf(attempt uint32) lifecycle.Observed {
	return lifecycle.Observed{
		Sandboxes:  []lifecycle.ObservedSandbox{{ID: "s", Attempt: attempt, Ready: true}},
		Containers: []lifecycle.ObservedContainer{{ID: "c", Name: "main", SandboxID: "s", Attempt: attempt}},
	}
}

// checkpointOf is that of a pod with such a sandbox, whose end may have been asked for.
func checkpointOf(pod *v1.Pod, attempt uint32, ends bool) lifecycle.Checkpoint {
	c := lifecycle.New(pod, lifecycle.DefaultOptions()).Checkpoint()
	c.Sandbox.Attempt, c.Deleted = attempt, ends
	c.Containers[0].RestartCount = int32(attempt)
	return c
}
