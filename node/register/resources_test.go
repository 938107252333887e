package register

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"

	"github.com/lifepod/lifepod/internal/assert"
)

// texts are quantities as kubectl prints them.
func texts(list v1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, quantity := range list {
		out[string(name)] = quantity.String()
	}
	return out
}

// The values follow from the kubelet's formulas, down to the byte.
func TestAllocatable(t *testing.T) {
	machine := Machine{
		CPUs: cpuset.New(0, 1, 2, 3), MemoryBytes: 16<<30 + 4096, StorageBytes: 101007306752,
		HugePages: []HugePages{{PageBytes: 2 << 20, Count: 100}, {PageBytes: 1 << 30, Count: 0}},
	}
	for _, tt := range []struct {
		name        string
		in          Resources
		capacity    map[string]string
		allocatable map[string]string
	}{
		{
			name: "nothing reserved: huge pages are no memory",
			in:   Resources{MaxPods: 110},
			capacity: map[string]string{
				"cpu": "4", "memory": "16777220Ki", "ephemeral-storage": "98639948Ki", "pods": "110",
				"hugepages-2Mi": "200Mi", "hugepages-1Gi": "0",
			},
			allocatable: map[string]string{
				"cpu": "4", "memory": "16572420Ki", "ephemeral-storage": "98639948Ki", "pods": "110",
				"hugepages-2Mi": "200Mi", "hugepages-1Gi": "0",
			},
		},
		{
			name: "defaults of the kubelet: 100Mi and 10 % kept free",
			in:   Resources{MaxPods: 110, EvictionHard: map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "15%"}},
			allocatable: map[string]string{
				"cpu": "4", "memory": "16470020Ki", "ephemeral-storage": "90906575927", "pods": "110",
				"hugepages-2Mi": "200Mi", "hugepages-1Gi": "0",
			},
		},
		{
			name: "both reservations; pods per core",
			in: Resources{
				MaxPods: 110, PodsPerCore: 10,
				KubeReserved:   map[string]string{"cpu": "100m", "memory": "1Gi", "pid": "1000"},
				SystemReserved: map[string]string{"cpu": "150m", "memory": "500Mi", "ephemeral-storage": "1Gi"},
			},
			allocatable: map[string]string{
				"cpu": "3750m", "memory": "15011844Ki", "ephemeral-storage": "97591372Ki", "pods": "40",
				"hugepages-2Mi": "200Mi", "hugepages-1Gi": "0",
			},
		},
		{
			name: "reserved CPUs replace both; the smaller limit of pods; switched off threshold",
			in: Resources{
				MaxPods: 20, PodsPerCore: 10, ReservedSystemCPUs: "0,2-3", WithoutEphemeralStorage: true,
				KubeReserved: map[string]string{"cpu": "1"}, SystemReserved: map[string]string{"cpu": "1"},
				EvictionHard: map[string]string{"memory.available": "0%", "nodefs.available": "10%"},
			},
			allocatable: map[string]string{"cpu": "1", "memory": "16572420Ki", "pods": "20", "hugepages-2Mi": "200Mi", "hugepages-1Gi": "0"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			capacity := tt.in.capacity(machine)
			reserved := assert.Get(tt.in.reserved(machine, capacity)).Must(t)
			status := v1.NodeStatus{Capacity: capacity}
			setAllocatable(&status, reserved)
			assert.Deep(t, "allocatable", tt.allocatable, texts(status.Allocatable))
			if tt.capacity == nil {
				return
			}
			assert.Deep(t, "capacity", tt.capacity, texts(capacity))
		})
	}
}

func TestReservedErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   Resources
		want string
	}{
		{"too much", Resources{KubeReserved: map[string]string{"cpu": "3"}, SystemReserved: map[string]string{"cpu": "2"}}, "reserve more than the machine has: cpu: 5 reserved of 4"},
		{"unknown", Resources{KubeReserved: map[string]string{"gpu": "1"}}, `kubeReserved["gpu"]: cannot be reserved: want cpu, memory`},
		{"no quantity", Resources{SystemReserved: map[string]string{"cpu": "many"}}, `systemReserved["cpu"]: "many"`},
		{"negative", Resources{SystemReserved: map[string]string{"cpu": "-1"}}, "want a quantity that isn't negative"},
		{"percentage", Resources{EvictionHard: map[string]string{"memory.available": "120%"}}, `evictionHard["memory.available"]: "120%": want a percentage from 0% to 100%`},
		{"threshold", Resources{EvictionHard: map[string]string{"memory.available": "0"}}, "want a quantity above zero"},
		{"CPUs", Resources{ReservedSystemCPUs: "3-4"}, "want CPUs that are online: 0-3"},
		{"CPU list", Resources{ReservedSystemCPUs: "a"}, `reservedSystemCPUs "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.ErrorContains(t, tt.want, assert.ErrorOf(newNode(Config{Name: "node-1", Resources: tt.in}, testMachine)))
		})
	}
}

func TestPodsLimit(t *testing.T) {
	node := assert.Get(newNode(Config{Name: "node-1", Resources: Resources{
		MaxPods:      110,
		KubeReserved: map[string]string{"memory": "1Gi"}, SystemReserved: map[string]string{"cpu": "0.5004"},
		EvictionHard: map[string]string{"memory.available": "100Mi"},
	}}, testMachine)).Must(t)
	assert.Deep(t, "A-RES-1 limit", map[string]string{"cpu": "3500m", "memory": "15Gi", "ephemeral-storage": "100Gi"}, texts(node.PodsLimit()))
}

// An agent that takes over a kubelet's Node keeps what is the cluster's.
func TestTakeOver(t *testing.T) {
	quantities := func(pairs ...string) v1.ResourceList {
		out := v1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			out[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return out
	}
	node := func() *v1.Node {
		n := existingNode()
		n.Labels = map[string]string{"kubernetes.io/hostname": "old", "kubernetes.io/os": "linux", "role": "db"}
		n.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}
		n.Status.Capacity = quantities("cpu", "2", "example.com/gpu", "4", "hugepages-1Gi", "1Gi", "hugepages-2Mi", "2Mi")
		n.Status.Allocatable = quantities("cpu", "2", "example.com/gpu", "4", "hugepages-1Gi", "1Gi", "hugepages-2Mi", "2Mi")
		return n
	}
	initial := existingNode()
	initial.Labels = map[string]string{"kubernetes.io/hostname": "node-1", "kubernetes.io/os": "linux", "role": "web"}
	initial.Annotations = map[string]string{attachDetach: "true"}
	initial.Spec.Taints = []v1.Taint{{Key: "other", Effect: v1.TaintEffectNoSchedule}}
	initial.Status.Capacity = quantities("cpu", "4", "hugepages-2Mi", "4Mi")
	initial.Status.Allocatable = quantities("cpu", "4", "hugepages-2Mi", "4Mi")

	got := node()
	assert.True(t, takeOver(got, initial, false), "takeOver says that nothing has changed")
	want := node()
	want.Labels["kubernetes.io/hostname"] = "node-1"
	want.Annotations = map[string]string{attachDetach: "true"}
	for _, list := range []v1.ResourceList{want.Status.Capacity, want.Status.Allocatable} {
		list["example.com/gpu"] = resource.MustParse("0")
		list["hugepages-2Mi"] = resource.MustParse("4Mi")
		delete(list, "hugepages-1Gi")
	}
	assert.Deep(t, "node", want, got, cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }))
	assert.True(t, !takeOver(got, initial, false), "taking it over again changes it")
}
