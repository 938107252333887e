package devices

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/numa"
)

// twoNUMANodes is a machine with two NUMA nodes of four CPUs and 1 GiB each.
func twoNUMANodes() (numa.Layout, error) {
	var l numa.Layout
	for id := range 2 {
		n := numa.Node{ID: id, MemoryBytes: 1 << 30, Distances: []uint64{10, 20}}
		for cpu := range 4 {
			n.CPUs = append(n.CPUs, numa.CPU{ID: id*4 + cpu, Core: id*4 + cpu, Socket: id, UncoreCache: id})
		}
		l.Nodes = append(l.Nodes, n)
	}
	return l, nil
}

// kubelet is a configuration with both static policies.
func kubelet(change func(*kubeletconfig.KubeletConfiguration)) *kubeletconfig.KubeletConfiguration {
	k := config.Default().Kubelet
	k.CPUManagerPolicy, k.ReservedSystemCPUs = "static", "0"
	k.MemoryManagerPolicy = "Static"
	k.ReservedMemory = []kubeletconfig.MemoryReservation{{NumaNode: 1, Limits: v1.ResourceList{"memory": resource.MustParse("100Mi")}}}
	if change != nil {
		change(k)
	}
	return k
}

// open opens what a node of twoNodes has for its pods.
func open(dir string, change func(*kubeletconfig.KubeletConfiguration)) (*Resources, error) {
	log := slog.New(slog.DiscardHandler)
	return NewResources(ResourcesConfig{
		Dir: dir, Kubelet: kubelet(change), Layout: twoNUMANodes, Log: log,
		Reserved: v1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("100Mi"), "ephemeral-storage": resource.MustParse("1Gi")},
		Devices:  New(Config{Dir: filepath.Join(dir, "device-plugins"), Timeouts: DefaultTimeouts(), Log: log}),
	})
}

func mustOpen(t *testing.T, dir string, change func(*kubeletconfig.KubeletConfiguration)) *Resources {
	t.Helper()
	return assert.Get(open(dir, change)).Must(t)
}

// guaranteed is a pod whose container main has limits.
func guaranteed(uid types.UID, cpu, memory string) *v1.Pod {
	list := v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(uid), UID: uid},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: list, Limits: list}}}},
	}
}

func admitted(t *testing.T, r *Resources, pod *v1.Pod) {
	t.Helper()
	got := r.Allocate(t.Context(), pod)
	assert.Require(t, got.Refusal == nil, "refused: %+v", got.Refusal)
}

// Who has what is known to the next agent, and free when it was given back. (A-NUMA-1,
// A-NUMA-12, A-NUMA-14)
func TestResourcesAllocate(t *testing.T) {
	dir := t.TempDir()
	r := mustOpen(t, dir, nil)
	a, shares := guaranteed("a", "3", "600Mi"), guaranteed("shares", "500m", "0")
	shares.Spec.Containers[0].Resources.Limits = nil
	assert.True(t, r.Asks(a) && !r.Asks(shares), "A-NUMA-3: who asks")
	admitted(t, r, a)
	admitted(t, r, shares)
	r = mustOpen(t, dir, nil) // another agent
	check := func(what string, pod *v1.Pod, cpus, mems string) {
		t.Helper()
		got, err := r.Assigned(t.Context(), pod, &pod.Spec.Containers[0])
		assert.True(t, err == nil && got.CPUs == cpus && got.MemoryNodes == mems,
			"%s runs on CPUs %q, memory %q; want %q, %q (%v)", what, got.CPUs, got.MemoryNodes, cpus, mems, err)
	}
	check("A-NUMA-3, A-NUMA-12: a", a, "1-3", "0")
	check("A-NUMA-3: who shares", shares, "0,4-7", "")
	cpus, blocks := r.All()
	shown := []any{r.CPUs("a", "main"), r.CPUs("shares", "main"), cpus, len(blocks)}
	assert.Deep(t, "shown", []any{[]int64{1, 2, 3}, []int64(nil), []int64{1, 2, 3, 4, 5, 6, 7}, 2}, shown)
	if got := r.Memory("a", "main"); len(got) != 1 || got[0].MemoryType != "memory" || got[0].Size != 600<<20 || len(got[0].Topology.Nodes) != 1 || got[0].Topology.Nodes[0].ID != 0 {
		t.Errorf("memory %v", got)
	}
	b := guaranteed("b", "5", "64Mi")
	got := r.Allocate(t.Context(), b)
	const why = "Allocate failed due to not enough cpus available to satisfy request: requested=5, available=4, which is unexpected"
	if got.Refusal == nil || got.Refusal.Reason != "UnexpectedAdmissionError" || got.Refusal.Message != why || got.Lacks != v1.ResourceCPU { // A-NUMA-2
		t.Errorf("b: %+v lacks %q", got.Refusal, got.Lacks)
	}
	assert.Deep(t, "A-NUMA-1: held", []types.UID{"a"}, r.Held())
	r.Release("a")
	admitted(t, r, b)
	check("b", b, "1,4-7", "0")
}

// What can't be remembered isn't given.
func TestCannotRemember(t *testing.T) {
	dir := t.TempDir()
	r := mustOpen(t, dir, nil)
	assert.Must(t, os.RemoveAll(dir))
	got := r.Allocate(t.Context(), guaranteed("a", "3", "600Mi"))
	assert.True(t, got.Refusal != nil && strings.Contains(got.Refusal.Message, "remember which CPUs and memory the pod has") && len(r.Held()) == 0,
		"%+v, held %v", got.Refusal, r.Held())
}

// A pod that can't be near to itself is refused and has nothing. (A-NUMA-9)
func TestTopology(t *testing.T) {
	r := mustOpen(t, t.TempDir(), func(k *kubeletconfig.KubeletConfiguration) { k.TopologyManagerPolicy = numa.SingleNUMANode })
	admitted(t, r, guaranteed("a", "2", "800Mi"))
	got := r.Allocate(t.Context(), guaranteed("b", "5", "64Mi"))
	if got.Refusal == nil || got.Refusal.Reason != "TopologyAffinityError" || got.Refusal.Message != "Resources cannot be allocated with Topology locality" {
		t.Errorf("A-NUMA-9: %+v", got.Refusal)
	}
	admitted(t, r, guaranteed("c", "4", "800Mi"))
	assert.Deep(t, "A-NUMA-5", []int64{4, 5, 6, 7}, r.CPUs("c", "main"))
}

// A-NUMA-3, A-NUMA-11, A-NUMA-12, A-NUMA-15: what keeps a node from its start.
func TestStart(t *testing.T) {
	static, before := t.TempDir(), func(dir, name, text string) string {
		assert.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return dir
	}
	admitted(t, mustOpen(t, static, nil), guaranteed("a", "3", "600Mi"))
	for name, tt := range map[string]struct {
		dir    string
		change func(*kubeletconfig.KubeletConfiguration)
		want   string // what the error has; empty: none
	}{
		"as before": {static, nil, ""},
		"no CPUs any more": {static, func(k *kubeletconfig.KubeletConfiguration) {
			k.CPUManagerPolicy, k.MemoryManagerPolicy = "none", "None"
		}, `could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static", please drain this node and delete the CPU manager checkpoint file`},
		"no memory any more":   {static, func(k *kubeletconfig.KubeletConfiguration) { k.MemoryManagerPolicy = "None" }, `[memorymanager] configured policy "None" differs from state checkpoint policy "Static", please drain this node and delete the memory manager checkpoint file`},
		"other reserved CPUs":  {static, func(k *kubeletconfig.KubeletConfiguration) { k.ReservedSystemCPUs = "1" }, `could not restore state from checkpoint: not all reserved cpus: "1" are present in defaultCpuSet: "0,4-7"`},
		"other reserved nodes": {static, func(k *kubeletconfig.KubeletConfiguration) { k.ReservedMemory[0].NumaNode = 0 }, "[memorymanager] the expected machine state is different from the real one"},
		"damaged":              {before(t.TempDir(), "cpu_manager_state", `{"policyName":"static","defaultCpuSet":"0-7","checksum":1}`), nil, "checkpoint is corrupted"},
		"the kubelet's":        {before(t.TempDir(), "cpu_manager_state", `{"policyName":"none","defaultCpuSet":"","checksum":1353318690}`), nil, `configured policy "static" differs from state checkpoint policy "none"`},
		"no such node":         {t.TempDir(), func(k *kubeletconfig.KubeletConfiguration) { k.ReservedMemory[0].NumaNode = 2 }, "memoryManagerPolicy: the reserved memory configuration references a NUMA node 2 that does not exist on this machine"},
		"other amount":         {t.TempDir(), func(k *kubeletconfig.KubeletConfiguration) { k.ReservedMemory = nil }, `memoryManagerPolicy: the total amount "0" of type "memory" is not equal to the value "100Mi" determined by Node Allocatable feature`},
		"too many CPUs":        {t.TempDir(), func(k *kubeletconfig.KubeletConfiguration) { k.ReservedSystemCPUs = "0-1" }, "cpuManagerPolicy: unable to reserve the required amount of CPUs"},
		"by socket":            {t.TempDir(), bySocket, "topology manager policy single-numa-node is incompatible with CPU manager policy option align-by-socket"},
		"shares": {t.TempDir(), func(k *kubeletconfig.KubeletConfiguration) {
			*k = *config.Default().Kubelet
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(tt.dir, tt.change)
			assert.True(t, (tt.want != "" || err == nil) && (tt.want == "" || err != nil && strings.Contains(err.Error(), tt.want)),
				"error %v\nwant %s", err, tt.want)
		})
	}
	_, err := NewResources(ResourcesConfig{Dir: t.TempDir(), Kubelet: kubelet(nil), Layout: twoNUMANodes})
	want := "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
	assert.True(t, err != nil && strings.HasSuffix(err.Error(), want), "A-NUMA-3: error %v, want %s", err, want)
}

func bySocket(k *kubeletconfig.KubeletConfiguration) {
	k.TopologyManagerPolicy = numa.SingleNUMANode
	k.CPUManagerPolicyOptions = map[string]string{"align-by-socket": "true"}
	k.FeatureGates = map[string]bool{"CPUManagerPolicyAlphaOptions": true}
}

// A-NUMA-13: what init containers had is free when a later one was created. The next agent knows.
func TestCreated(t *testing.T) {
	dir := t.TempDir()
	r := mustOpen(t, dir, nil)
	pod := guaranteed("a", "1", "64Mi")
	init := guaranteed("", "1", "256Mi").Spec.Containers[0]
	init.Name = "init"
	pod.Spec.InitContainers = []v1.Container{init}
	admitted(t, r, pod)
	assert.Require(t, len(r.Memory("a", "init")) != 0, "A-NUMA-12: the init container has no memory")
	r.Carried(pod, lifecycle.CreateContainer{Container: "main"}, lifecycle.ContainerCreated{}, 0)
	<-r.dirty
	assert.Must(t, r.remember())
	for _, agent := range []*Resources{r, mustOpen(t, dir, nil)} {
		assert.Empty(t, agent.Memory("a", "init"), "A-NUMA-13")
	}
}

// A-ACT-15: what a resize can't change.
func TestExclusive(t *testing.T) {
	for want, change := range map[roster.Fixed]func(*kubeletconfig.KubeletConfiguration){
		{CPUs: true, Memory: true}: nil,
		{Memory: true}:             func(k *kubeletconfig.KubeletConfiguration) { k.CPUManagerPolicy = "none" },
		{CPUs: true}: func(k *kubeletconfig.KubeletConfiguration) {
			k.FeatureGates = map[string]bool{config.ResizeExclusiveMemory: true}
		},
	} {
		assert.Equal(t, want, mustOpen(t, t.TempDir(), change).Fixed(), "A-ACT-15")
	}
}

// twoNodes is a machine with two NUMA nodes.
func twoNodes(t *testing.T, policy, scope string) numa.Policy {
	t.Helper()
	return assert.Get(numa.NewPolicy(policy, scope, numa.Options{MaxNodes: 8}, numa.Layout{Nodes: []numa.Node{{ID: 0}, {ID: 1}}})).Must(t)
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
