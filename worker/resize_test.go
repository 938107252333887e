package worker

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

func requirements(cpu, memory string) v1.ResourceRequirements {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}
	return v1.ResourceRequirements{Requests: list, Limits: list.DeepCopy()}
}

// resizedWith is a running pod of which the container main was asked to be resized.
func resizedWith(s *story, to v1.ResourceRequirements, policy ...v1.ContainerResizePolicy) *life {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	pod.Spec.Containers[0].Resources = requirements("100m", "64Mi")
	pod.Spec.Containers[0].ResizePolicy = policy
	web := s.running(pod)
	web.worker.Post(lifecycle.ResizeRequested{Containers: []lifecycle.ContainerResources{{Name: "main", Resources: to}}})
	return web
}

func resizeCalls(s *story) []string {
	return slices.DeleteFunc(s.Acted(), func(call string) bool {
		return !strings.Contains(call, "Resources") && !strings.Contains(call, "Stats")
	})
}

// A resize sets no quota where CPU limits are not enforced (A-CRI-7), and ends.
func TestResizeWithoutQuota(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.node.Config.CPULimits = podcgroup.CPULimits{Off: true}
		web := resizedWith(s, requirements("200m", "64Mi"))
		web.await("the resize to end", resized(requirements("200m", "64Mi")))
		want := []string{
			"UpdatePodSandboxResources web shares=204 quota=-1 memory=67108864",
			"UpdateContainerResources web/main shares=204 quota=0 memory=67108864",
		}
		assert.Deep(t, "calls", want, resizeCalls(s))
	})
}

// The runtime is told of the pod's new values, the container is changed, memory
// before cpu, and its status says what the runtime says (A-ACT-12, A-CST-15).
func TestResizeInPlace(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		web := resizedWith(s, requirements("200m", "128Mi"))
		web.await("the resize to end", resized(requirements("200m", "128Mi")))
		want := []string{
			"UpdatePodSandboxResources web shares=204 quota=20000 memory=134217728",
			"UpdateContainerResources web/main shares=102 quota=10000 memory=134217728",
			"UpdateContainerResources web/main shares=204 quota=20000 memory=134217728",
		}
		assert.Deep(t, "calls", want, resizeCalls(s))
		assert.Equal(t, 0, web.last().ContainerStatuses[0].RestartCount, "restarts")
		web.ends(1)
	})
}

// The pod as a whole is resized with its container that declares no limits: its cgroup
// before the container's limit grows, after it when it shrinks (A-ACT-17, A-ACT-18).
func TestResizeWhole(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		own := requirements("100m", "64Mi")
		pod.Spec.Resources = &own
		web := s.running(pod)
		for _, to := range []v1.ResourceRequirements{requirements("200m", "128Mi"), requirements("150m", "96Mi")} {
			web.worker.Post(lifecycle.ResizeRequested{Pod: &to})
			web.await("the resize to end", func(status v1.PodStatus) bool {
				return resizeReason(status, v1.PodResizeInProgress) == "" && equality.Semantic.DeepEqual(status.Resources, &to)
			})
		}
		want := []string{
			"UpdatePodSandboxResources web shares=204 quota=20000 memory=134217728",
			"UpdateContainerResources web/main shares=102 quota=10000 memory=134217728",
			"UpdateContainerResources web/main shares=204 quota=20000 memory=134217728",
			"PodSandboxStats web",
			"UpdateContainerResources web/main shares=204 quota=20000 memory=100663296",
			"UpdateContainerResources web/main shares=153 quota=15000 memory=100663296",
			"UpdatePodSandboxResources web shares=153 quota=15000 memory=100663296",
		}
		assert.Deep(t, "calls", want, resizeCalls(s))
		web.ends(1)
	})
}

// The runtime may refuse a pod's new values, and may not have the call at all (A-ACT-12).
func TestRuntimeRefusesResize(t *testing.T) {
	for _, tc := range []struct{ fault, want string }{
		{"fail UpdatePodSandboxResources code=Internal message=a_plugin_objects", "Error: tell the runtime of the pod's new resources: a plugin objects"},
		{"fail UpdatePodSandboxResources code=Unimplemented", ""},
		{"fail UpdatePodSandboxResources code=Unknown message=not_implemented_yet", ""},
	} {
		storyOf(t, tc.fault, func(t *testing.T, s *story) {
			s.Fault(tc.fault)
			web := resizedWith(s, requirements("200m", "64Mi"))
			if tc.want != "" {
				web.await("the error", func(status v1.PodStatus) bool { return resizeReason(status, v1.PodResizeInProgress) == tc.want })
			}
			web.await("the resize to end", resized(requirements("200m", "64Mi")))
			took := s.elapsed()
			assert.True(t, (took >= 10*time.Second) == (tc.want != ""), "it took %v", took)
			web.ends(1)
		})
	}
}

// A container that is restarted for its new memory is made with it (A-ACT-12).
func TestResizeRestarts(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		restart := v1.ContainerResizePolicy{ResourceName: v1.ResourceMemory, RestartPolicy: v1.RestartContainer}
		web := resizedWith(s, requirements("100m", "128Mi"), restart)
		web.await("the restart", restarts(1))
		web.await("the resize to end", resized(requirements("100m", "128Mi")))
		web.ends(1)
	})
}

// What is used is looked at before a memory limit shrinks (A-ACT-12).
func TestResizeBelowUsage(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.Uses(40 << 20)
		web := resizedWith(s, requirements("100m", "32Mi"))
		web.await("the error", func(status v1.PodStatus) bool {
			return strings.Contains(resizeReason(status, v1.PodResizeInProgress), "Error: cannot decrease memory limits")
		})
		s.Uses(10 << 20)
		web.await("the resize to end", resized(requirements("100m", "32Mi")))
		took := s.elapsed()
		assert.True(t, took >= 10*time.Second, "tried again after %v", took)
		web.ends(1)
	})
}

// A node without room defers the resize (A-ACT-15, A-COND-10).
func TestResizeDeferred(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.node.Admission.Host = &admit.Host{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("2"), v1.ResourceMemory: resource.MustParse("1Gi")}}
		web := resizedWith(s, requirements("3", "64Mi"))
		web.await("the refusal", func(status v1.PodStatus) bool {
			const want = "Deferred: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"
			return resizeReason(status, v1.PodResizePending) == want
		})
		web.ends(1)
	})
}

// resized says that the container runs with these resources and nothing is in progress.
func resized(to v1.ResourceRequirements) func(v1.PodStatus) bool {
	return func(status v1.PodStatus) bool {
		if resizeReason(status, v1.PodResizeInProgress) != "" || !running(status) || status.ContainerStatuses[0].State.Running == nil {
			return false
		}
		return equality.Semantic.DeepEqual(status.ContainerStatuses[0].Resources, &to)
	}
}

func resizeReason(status v1.PodStatus, t v1.PodConditionType) string {
	for _, c := range status.Conditions {
		if c.Type == t {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}
