package roster

import (
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster/admit"
)

// TestShrunk: who gives something back lets others grow (A-ACT-15).
func TestShrunk(t *testing.T) {
	of := func(cpu, memory string) *v1.PodStatus {
		list := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
		if memory != "" {
			list[v1.ResourceMemory] = resource.MustParse(memory)
		}
		return &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{AllocatedResources: list}}}
	}
	for _, test := range []struct {
		name        string
		before, now *v1.PodStatus
		want        bool
	}{
		{"the same", of("1", "1Gi"), of("1000m", "1Gi"), false},
		{"more", of("1", "1Gi"), of("2", "1Gi"), false},
		{"less of one and more of another", of("1", "1Gi"), of("2", "1Mi"), true},
		{"nothing of one", of("1", "1Gi"), of("1", ""), true},
		{"begun", &v1.PodStatus{}, of("1", "1Gi"), false},
	} {
		assert.Equal(t, test.want, shrunk(test.before, test.now), "%s: shrunk", test.name)
	}
}

// TestListsRequests: what was granted is kept until the status tells of all of it, the containers' and
// the pod's as a whole (A-ACT-15, A-ADM-8).
func TestListsRequests(t *testing.T) {
	container, whole := podOf(API, "a", "a"), podOf(API, "b", "b")
	container.Spec.Containers[0].Resources.Requests = cpus("2")
	whole.Spec.Containers[0].Resources.Requests = cpus("1")
	whole.Spec.Resources = &v1.ResourceRequirements{Requests: cpus("4")}
	over := whole.DeepCopy()
	over.Spec.Overhead = cpus("500m")
	asWhole := func(own, ofContainer string) v1.PodStatus {
		status := statusOf(v1.PodRunning, ofContainer)
		if own != "" {
			status.AllocatedResources = cpus(own)
		}
		return status
	}
	for _, test := range []struct {
		name   string
		pod    *v1.Pod
		status v1.PodStatus
		want   bool
	}{
		{"a container has it", container, statusOf(v1.PodRunning, "2000m"), true},
		{"a container has less", container, statusOf(v1.PodRunning, "1"), false},
		{"a container has more", container, statusOf(v1.PodRunning, "3"), false},
		{"nothing of a container is told", container, statusOf(v1.PodRunning, ""), true},
		{"the pod has it", whole, asWhole("4", "1"), true},
		{"the pod has less", whole, asWhole("3", "1"), false},
		{"the pod has more", whole, asWhole("5", "1"), false},
		{"nothing of the pod is told", whole, asWhole("", "1"), true},
		{"a container of the pod has less", whole, asWhole("4", "500m"), false},
		{"the pod has its overhead as well", over, asWhole("4500m", "1"), true},
		{"the overhead is not in it", over, asWhole("4", "1"), false},
		{"a pod without resources of its own", container, asWhole("2", "2"), true},
	} {
		assert.Equal(t, test.want, listsRequests(test.pod, &test.status), "%s: tells", test.name)
	}
}

// TestGaveBack: others are asked again when a pod has ended, or has become smaller, and not
// whenever its status changes (A-ACT-15).
func TestGaveBack(t *testing.T) {
	resizing := statusOf(v1.PodRunning, "1")
	resizing.Conditions = []v1.PodCondition{{Type: v1.PodResizeInProgress, Status: v1.ConditionTrue}}
	for _, test := range []struct {
		name        string
		before, now v1.PodStatus
		want        bool
	}{
		{"it runs", statusOf(v1.PodPending, "1"), statusOf(v1.PodRunning, "1"), false},
		{"it has ended", statusOf(v1.PodRunning, "1"), statusOf(v1.PodFailed, "1"), true},
		{"it had ended", statusOf(v1.PodFailed, "1"), statusOf(v1.PodFailed, "1"), false},
		{"a resize begins", statusOf(v1.PodRunning, "1"), resizing, false},
		{"a resize goes on", resizing, resizing, false},
		{"a resize is over", resizing, statusOf(v1.PodRunning, "1"), true},
		{"it has less", statusOf(v1.PodRunning, "2"), statusOf(v1.PodRunning, "1"), true},
	} {
		assert.Equal(t, test.want, gaveBack(&test.before, &test.now), "%s: gave back", test.name)
	}
}

// A-ACT-15: where Guaranteed pods have CPUs for themselves, their CPU can't be resized.
func TestExclusive(t *testing.T) {
	m := New(Options{Sources: []Source{API}, API: true, Fixed: Fixed{CPUs: true}})
	step := func(f Fact) []Effect { return m.Step(Event{At: start, Fact: f}) }
	guaranteed := func(cpu string) *v1.Pod {
		pod := podOf(API, "p", "p")
		list := cpus(cpu)
		maps.Copy(list, v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")})
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: list, Limits: list}
		return pod
	}
	step(NodeKnown{Node: nodeOf("4", nil)})
	step(Opened{})
	step(SourceHeard{Source: API})
	step(Wanted{Source: API, Pod: guaranteed("1")})
	effects := step(ResizeAsked{ID: 1, Pod: guaranteed("2")})
	want := []Effect{AnswerResize{ID: 1, Refusal: &admit.Refusal{
		Reason: v1.PodReasonInfeasible, Message: `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`,
	}}}
	assert.Deep(t, "A-ACT-15", want, effects)
}
