package podcgroup

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func withPodLevel(pod *v1.Pod, r v1.ResourceRequirements) *v1.Pod {
	pod.Spec.Resources = &r
	return pod
}

func withInit(pod *v1.Pod, policy *v1.ContainerRestartPolicy, r v1.ResourceRequirements) *v1.Pod {
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Name: "init", RestartPolicy: policy, Resources: r})
	return pod
}

func TestQOSClass(t *testing.T) {
	full := list("1", "1Gi")
	saved := podOf(needs(full, full))
	saved.Status.QOSClass = v1.PodQOSBurstable
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		want v1.PodQOSClass
	}{
		{"nothing set", podOf(v1.ResourceRequirements{}), v1.PodQOSBestEffort},
		{"zero counts as nothing", podOf(needs(list("0", "0"), nil)), v1.PodQOSBestEffort},
		{"other resources do not count", podOf(needs(v1.ResourceList{"ephemeral-storage": resource.MustParse("1Gi")}, nil)), v1.PodQOSBestEffort},
		{"both limits equal to requests", podOf(needs(full, full), needs(full, full)), v1.PodQOSGuaranteed},
		{"limit above request", podOf(needs(list("500m", "1Gi"), full)), v1.PodQOSBurstable},
		{"one limit missing", podOf(needs(list("1", "1Gi"), list("1", ""))), v1.PodQOSBurstable},
		{"one container without limits", podOf(needs(full, full), v1.ResourceRequirements{}), v1.PodQOSBurstable},
		{"sums are equal, containers are not", podOf(needs(list("1", "1Gi"), list("2", "1Gi")), needs(list("3", "1Gi"), list("2", "1Gi"))), v1.PodQOSBurstable},
		{"init containers count", withInit(podOf(needs(full, full)), nil, v1.ResourceRequirements{}), v1.PodQOSBurstable},
		{"pod level replaces containers", withPodLevel(podOf(v1.ResourceRequirements{}), needs(full, full)), v1.PodQOSGuaranteed},
		{"pod level empty counts as none", withPodLevel(podOf(needs(full, full)), v1.ResourceRequirements{}), v1.PodQOSGuaranteed},
		{"the status wins", saved, v1.PodQOSBurstable},
	} {
		t.Run("A-API-3 "+tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, lifecycle.QOSClass(tc.pod), "QOSClass")
		})
	}
}

func TestCPU(t *testing.T) {
	for _, tc := range []struct {
		milli  int64
		shares uint64
		quota  int64
	}{
		{0, 2, 0}, {1, 2, 1000}, {10, 10, 1000}, {250, 256, 25_000}, {1000, 1024, 100_000}, {300_000, 262_144, 30_000_000},
	} {
		t.Run(fmt.Sprintf("A-CRI-7 %dm", tc.milli), func(t *testing.T) {
			shares, quota := CPUShares(tc.milli), (CPULimits{}).Quota(tc.milli)
			assert.True(t, shares == tc.shares && quota == tc.quota, "shares, quota = %d, %d, want %d, %d", shares, quota, tc.shares, tc.quota)
		})
	}
	for shares, want := range map[uint64]uint64{2: 1, 1024: 39, 262_144: 10_000} {
		assert.Equal(t, want, cpuWeight(shares), "cpuWeight(%d)", shares)
	}
}

func TestResourcesOf(t *testing.T) {
	full := list("1", "1Gi")
	overhead := podOf(needs(full, full))
	overhead.Spec.Overhead = list("250m", "64Mi")
	huge := podOf(needs(v1.ResourceList{"cpu": resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("6Mi"), "hugepages-1Gi": resource.MustParse("1Gi")}, nil))
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		want Resources
	}{
		{"A-CRI-9 Guaranteed", podOf(needs(full, full)), Resources{CPUShares: 1024, CPUQuota: 100_000, CPUPeriod: 100_000, MemoryLimit: 1 << 30}},
		{"A-CRI-9 overhead included", overhead, Resources{CPUShares: 1280, CPUQuota: 125_000, CPUPeriod: 100_000, MemoryLimit: 1<<30 + 64<<20}},
		{"A-CRI-9 Burstable, all limits", podOf(needs(nil, full), needs(list("1", ""), list("2", "1Gi"))), Resources{CPUShares: 1024, CPUQuota: 300_000, CPUPeriod: 100_000, MemoryLimit: 2 << 30}},
		{"A-CRI-9 Burstable, memory limit missing", podOf(needs(full, full), needs(nil, list("1", ""))), Resources{CPUShares: 1024, CPUQuota: 200_000, CPUPeriod: 100_000}},
		{"A-CRI-9 Burstable, CPU limit missing", podOf(needs(full, full), needs(nil, list("", "1Gi"))), Resources{CPUShares: 1024, MemoryLimit: 2 << 30}},
		{"A-CRI-9 Burstable, limits of the pod", withPodLevel(podOf(needs(list("1", ""), nil)), needs(list("2", ""), full)), Resources{CPUShares: 2048, CPUQuota: 100_000, CPUPeriod: 100_000, MemoryLimit: 1 << 30}},
		{"A-CRI-9 BestEffort", podOf(v1.ResourceRequirements{}), Resources{CPUShares: 2}},
		{"A-CRI-9 hugepages", huge, Resources{CPUShares: 1024, HugePages: map[string]uint64{"2MB": 6 << 20, "1GB": 1 << 30}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want.HugePages == nil {
				tc.want.HugePages = map[string]uint64{}
			}
			assert.Deep(t, "resources", tc.want, ResourcesOf(tc.pod, CPULimits{}))
		})
	}
}

// cpuCFSQuota and cpuCFSQuotaPeriod hold for pods: a quota that is not enforced is
// taken away, and only where there would be one.
func TestResourcesOfCPULimits(t *testing.T) {
	off, short := CPULimits{Off: true}, CPULimits{Period: 5 * time.Millisecond}
	guaranteed, burstable := podOf(needs(list("1", "1Gi"), list("1", "1Gi"))), podOf(needs(list("2", ""), list("2", "")))
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		cpu  CPULimits
		want Resources
	}{
		{"off, Guaranteed", guaranteed, off, Resources{CPUShares: 1024, CPUQuota: NoQuota, CPUPeriod: 100_000, MemoryLimit: 1 << 30}},
		{"off, Burstable", burstable, off, Resources{CPUShares: 2048, CPUQuota: NoQuota, CPUPeriod: 100_000}},
		{"off, no limit", podOf(needs(list("1", ""), nil)), off, Resources{CPUShares: 1024}},
		{"off, BestEffort", podOf(v1.ResourceRequirements{}), off, Resources{CPUShares: 2}},
		{"period", burstable, short, Resources{CPUShares: 2048, CPUQuota: 10_000, CPUPeriod: 5000}},
		{"A-NUMA-18 CPUs of its own", guaranteed, CPULimits{OwnCPUs: func(types.UID, string) bool { return true }}, Resources{CPUShares: 1024, CPUQuota: NoQuota, CPUPeriod: 100_000, MemoryLimit: 1 << 30}},
		{"A-NUMA-18 CPUs of others", guaranteed, CPULimits{OwnCPUs: func(types.UID, string) bool { return false }}, Resources{CPUShares: 1024, CPUQuota: 100_000, CPUPeriod: 100_000, MemoryLimit: 1 << 30}},
		{"period, least quota", podOf(needs(list("100m", ""), list("100m", ""))), short, Resources{CPUShares: 102, CPUQuota: 1000, CPUPeriod: 5000}},
	} {
		t.Run("A-CRI-7 "+tc.name, func(t *testing.T) {
			tc.want.HugePages = map[string]uint64{}
			assert.Deep(t, "resources", tc.want, ResourcesOf(tc.pod, tc.cpu))
		})
	}
}

func TestOOMScoreAdjust(t *testing.T) {
	const nodeMemory = 16 << 30
	always := ptr.To(v1.ContainerRestartPolicyAlways)
	full := list("1", "1Gi")
	critical := func(priority int32) *v1.Pod {
		pod := podOf(v1.ResourceRequirements{})
		pod.Spec.PriorityClassName, pod.Spec.Priority = "system-node-critical", &priority
		return pod
	}
	first := func(pod *v1.Pod) *v1.Container { return &pod.Spec.Containers[0] }
	init := func(pod *v1.Pod) *v1.Container { return &pod.Spec.InitContainers[0] }
	for _, tc := range []struct {
		name      string
		pod       *v1.Pod
		container func(*v1.Pod) *v1.Container
		want      int64
	}{
		{"node critical", critical(2_000_001_000), first, -997},
		{"the class without the priority", critical(1000), first, 1000},
		{"Guaranteed", podOf(needs(full, full)), first, -997},
		{"BestEffort", podOf(v1.ResourceRequirements{}), first, 1000},
		{"Burstable by request", podOf(needs(list("", "4Gi"), nil)), first, 750},
		{"Burstable without request", podOf(needs(list("1", ""), nil)), first, 999},
		{"Burstable with all memory", podOf(needs(list("", "16Gi"), nil)), first, 3},
		{"sidecar takes the smallest regular request", withInit(podOf(needs(list("", "8Gi"), nil), needs(list("", "4Gi"), nil)), always, v1.ResourceRequirements{}), init, 750},
		{"sidecar with more of its own", withInit(podOf(needs(list("", "4Gi"), nil)), always, needs(list("", "8Gi"), nil)), init, 500},
		{"a regular init container is no sidecar", withInit(podOf(needs(list("", "4Gi"), nil)), nil, v1.ResourceRequirements{}), init, 999},
		{
			"pod-level request, the rest split evenly", withPodLevel(withInit(podOf(needs(list("", "4Gi"), nil)), nil, v1.ResourceRequirements{}), needs(list("", "8Gi"), nil)),
			first, 625,
		},
		{
			"containers with more than the pod", withPodLevel(podOf(needs(list("", "4Gi"), nil)), needs(list("", "1Gi"), nil)),
			first, 750,
		},
		{
			"sidecar with pod-level request", withPodLevel(withInit(podOf(needs(list("", "4Gi"), nil)), always, v1.ResourceRequirements{}), needs(list("", "8Gi"), nil)),
			init, 625,
		},
	} {
		t.Run("A-CRI-10 "+tc.name, func(t *testing.T) {
			assert.Equal(t, tc.want, OOMScoreAdjust(tc.pod, tc.container(tc.pod), nodeMemory), "OOMScoreAdjust")
		})
	}
	assert.Equal(t, 999, OOMScoreAdjust(podOf(needs(list("", "4Gi"), nil)), &v1.Container{}, 0), "with unknown memory of the node")
}

// A pod's cgroup first has room for the old and the new values, then has the
// new ones (A-ACT-12).
func TestResize(t *testing.T) {
	d := testDriver(t)
	was := podOf(needs(list("500m", "64Mi"), list("500m", "64Mi")))
	is := podOf(needs(list("250m", "128Mi"), list("250m", "128Mi")))
	assert.Must(t, d.Ensure(was))
	for _, test := range []struct {
		name         string
		states       []*v1.Pod
		want1, want2 [3]string // as in TestEnsureSetsTheValues
	}{
		{"room", []*v1.Pod{was, is}, [3]string{"512", "50000", "134217728"}, [3]string{"20", "50000 100000", "134217728"}},
		{"new", []*v1.Pod{is}, [3]string{"256", "25000", "134217728"}, [3]string{"10", "25000 100000", "134217728"}},
		{"back", []*v1.Pod{was}, [3]string{"512", "50000", "67108864"}, [3]string{"20", "50000 100000", "67108864"}},
	} {
		err := d.Resize(test.states)
		assert.Require(t, err == nil, "%s: %v", test.name, err)
		got := [3]string{
			read(t, d, is, "cpu.shares", "cpu.weight"),
			read(t, d, is, "cpu.cfs_quota_us", "cpu.max"),
			read(t, d, is, "memory.limit_in_bytes", "memory.max"),
		}
		want := test.want1
		if cgroups.IsCgroup2UnifiedMode() {
			want = test.want2
		}
		assert.Deep(t, fmt.Sprintf("%s: values", test.name), want, got)
	}
}

// No limit is the greatest one. Huge pages, which no resize changes, keep theirs.
func TestEnoughFor(t *testing.T) {
	limited, unlimited := podOf(needs(list("1", ""), list("2", "64Mi"))), podOf(needs(list("2", ""), nil))
	for _, pod := range []*v1.Pod{limited, unlimited} {
		pod.Spec.Containers[0].Resources.Requests["hugepages-2Mi"] = resource.MustParse("6Mi")
	}
	got := EnoughFor([]*v1.Pod{limited, unlimited}, CPULimits{})
	assert.Deep(t, "EnoughFor", (Resources{CPUShares: 2048, CPUPeriod: 100_000, HugePages: map[string]uint64{"2MB": 6 << 20}}), got)
}

// What shares stand for, as the API shows it (A-CST-15).
func TestMilliCPUOfShares(t *testing.T) {
	for milli, shares := range map[int64]int64{2: 2, 100: 102, 250: 256, 1000: 1024} {
		assert.Equal(t, milli, MilliCPUOfShares(shares), "MilliCPUOfShares(%d)", shares)
	}
}

// TestEnsureWithHugePages: a pod with huge pages gets its cgroup on every
// machine, and the limit where there is such a controller.
func TestEnsureWithHugePages(t *testing.T) {
	if len(cgroups.HugePageSizes()) == 0 {
		t.Log("the kernel has no huge pages: nothing but the cgroup itself is proven")
	}
	d := testDriver(t)
	huge := v1.ResourceList{"cpu": resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("6Mi")}
	pod := podOf(needs(huge, huge))
	err := d.Ensure(pod)
	assert.Require(t, err == nil, "A-CRI-9 %v", err)
	for _, dir := range folders(d, d.Path(pod)) {
		for _, file := range []string{"hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.max"} {
			if !cgroups.PathExists(filepath.Join(dir, file)) {
				continue
			}
			got, err := cgroups.ReadFile(dir, file)
			assert.True(t, err == nil && got == "6291456\n", "A-CRI-9 %s = %q, %v, want 6291456", file, got, err)
		}
	}
}
