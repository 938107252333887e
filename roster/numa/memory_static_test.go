package numa

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
)

const gib = 1 << 30

// two is a machine of two NUMA nodes of 4 GiB, of which 1 GiB is reserved.
func two(t *testing.T) *StaticMemory {
	t.Helper()
	s := assert.Get(NewStaticMemory(Layout{Nodes: []Node{{MemoryBytes: 4 * gib}, {ID: 1, MemoryBytes: 4 * gib}}},
		ReservedMemory{0: {v1.ResourceMemory: gib}})).Must(t)
	return s
}

func memoryContainer(name, memory string) v1.Container {
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse(memory)}
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: list, Limits: list}}
}

// A-NUMA-13: what an init container has alone is free when the next container is created.
func TestStarted(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{memoryContainer("init", "3Gi"), memoryContainer("side", "1Gi")}, Containers: []v1.Container{memoryContainer("main", "1Gi")},
	}}
	pod.UID = "u"
	pod.Spec.InitContainers[1].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	s := two(t)
	assert.Must(t, (Policy{}).Admit(pod, []Provider{s}))
	for _, step := range []struct {
		started string
		free    uint64
	}{{"init", 4 * gib}, {"side", 5 * gib}, {"main", 5 * gib}} {
		s.Started(pod, step.started)
		var free uint64
		for id := range 2 {
			free += s.State().table(id, v1.ResourceMemory).Free
		}
		has := len(s.BlocksOf("u", "init"))
		assert.True(t, has == 1 == (step.started == "init"), "A-NUMA-13: with %s the init container has %d blocks", step.started, has)
		assert.Equal(t, free, step.free, "A-NUMA-13: with %s %d bytes are free", step.started, free)
	}
}

// A-NUMA-15: a state that is not of this machine is refused in upstream's words.
func TestMemoryRestore(t *testing.T) {
	block := func(node int, resource v1.ResourceName) ContainerMemoryAssignments {
		return ContainerMemoryAssignments{"u": {"c": {{NUMAAffinity: []int{node}, Type: resource, Size: gib}}}}
	}
	nodes := two(t).State().Nodes
	for _, test := range []struct {
		state MemoryState
		want  string
	}{
		{state: MemoryState{Nodes: nodes}},
		{state: MemoryState{}},
		{state: MemoryState{Given: block(0, v1.ResourceMemory)}, want: "[memorymanager] machine state can not be empty when it has memory assignments"},
		{state: MemoryState{Nodes: nodes, Given: block(0, v1.ResourceMemory)}, want: "[memorymanager] the expected machine state is different from the real one"},
		{state: MemoryState{Nodes: nodes, Given: block(7, v1.ResourceMemory)}, want: "[memorymanager] (pod: u, container: c) the memory assignment uses the NUMA that does not exist"},
		{state: MemoryState{Nodes: nodes, Given: block(1, "hugepages-1Gi")}, want: "[memorymanager] (pod: u, container: c) the memory assignment uses memory resource that does not exist"},
		{state: MemoryState{Nodes: NUMANodeMap{0: nodes[0]}}, want: "[memorymanager] the expected machine state is different from the real one"},
	} {
		assert.Error(t, test.want, two(t).Restore(test.state), "A-NUMA-15")
	}
	assert.Error(t, "[memorymanager] you should specify the system reserved memory", assert.ErrorOf(NewStaticMemory(Layout{}, nil)), "A-NUMA-12: nothing is reserved")
}
