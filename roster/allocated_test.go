package roster

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
		if got := shrunk(test.before, test.now); got != test.want {
			t.Errorf("%s: shrunk %t, want %t", test.name, got, test.want)
		}
	}
}
