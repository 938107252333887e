package devices

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster/numa"
)

// twoNodes is a machine with two NUMA nodes.
func twoNodes(t *testing.T, policy, scope string) numa.Policy {
	t.Helper()
	p := assert.Get(numa.NewPolicy(policy, scope, numa.Options{MaxNodes: 8}, numa.Layout{Nodes: []numa.Node{{ID: 0}, {ID: 1}}})).Must(t)
	return p
}

// besides are healthy devices that are near to NUMA nodes.
func besides(of map[string]int64) (list []*api.Device) {
	for id, node := range of {
		list = append(list, &api.Device{ID: id, Health: api.Healthy, Topology: &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: node}}}})
	}
	return list
}

// A-NUMA-16: devices of one container, or of one pod, are near to the same NUMA node, or the
// pod is refused.
func TestAligned(t *testing.T) {
	n := begin(t, folder(t), nil)
	f := n.plugin("a.sock", nil, "g0")
	f.lists <- besides(map[string]int64{"g0": 0, "g1": 1, "g2": 1, "g3": 0, "g4": 1})
	n.await(gpu, 5, 5)
	byContainer, byPod := twoNodes(t, numa.Restricted, numa.ContainerScope), twoNodes(t, numa.SingleNUMANode, numa.PodScope)
	one := podOf("one", "1")
	if got := n.allocateBy(t.Context(), byContainer, one); got.Refusal != nil || n.has(one, "main") != "/dev/g0 " {
		t.Fatalf("A-NUMA-16: %+v, it has %q", got.Refusal, n.has(one, "main"))
	}
	pod := podOf("pod", "1")
	pod.Spec.InitContainers = []v1.Container{asking("init", "2")}
	pod.Spec.Containers = append(pod.Spec.Containers, asking("other", "1"))
	if got := n.allocateBy(t.Context(), byPod, pod); got.Refusal != nil || n.has(pod, "init")+n.has(pod, "main")+n.has(pod, "other") != "/dev/g1 /dev/g2 /dev/g1 /dev/g2 " {
		t.Fatalf("A-NUMA-16: %+v, it has %q, %q, %q", got.Refusal, n.has(pod, "init"), n.has(pod, "main"), n.has(pod, "other"))
	}
	got := n.allocateBy(t.Context(), byPod, pod)
	assert.True(t, got.Refusal == nil && slices.Equal(got.Given, []v1.ResourceName{gpu}), "A-NUMA-1: who has it already: %+v", got)
	apart := podOf("apart", "2") // g3 and g4
	if got := n.allocateBy(t.Context(), byContainer, apart); got.Refusal == nil || got.Refusal.Reason != "TopologyAffinityError" || slices.Contains(n.Held(), "apart") {
		t.Errorf("A-NUMA-9, A-NUMA-16: %+v, held %v", got.Refusal, n.Held())
	}
	got = n.allocateBy(t.Context(), twoNodes(t, numa.BestEffort, numa.ContainerScope), apart)
	assert.True(t, got.Refusal == nil, "A-NUMA-9: %+v", got.Refusal)
	got = n.allocateBy(t.Context(), byContainer, podOf("more", "1"))
	assert.True(t, got.Refusal != nil && got.Refusal.Reason == "TopologyAffinityError", "A-NUMA-16: when all are in use: %+v", got.Refusal)
}
