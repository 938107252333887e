package podcgroup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/lifepod/lifepod/lifecycle"
)

// Resources is what a pod's cgroup limits (A-CRI-9); zero means not set.
type Resources struct {
	CPUShares uint64
	// CPUQuota and CPUPeriod are in microseconds; the quota is NoQuota for a limit
	// that is not enforced. MemoryLimit is in bytes.
	CPUQuota    int64
	CPUPeriod   int64
	MemoryLimit int64
	PidsLimit   int64
	// HugePages limits in bytes by page size, named as in cgroupfs ("2MB").
	HugePages map[string]uint64
	// Unified are files of cgroup v2 and what they have; v1 has no such files.
	Unified map[string]string
}

// NoQuota takes away the quota that a cgroup may have.
const NoQuota = -1

// ResourcesOf computes the resources of a pod's cgroup, overhead included.
func ResourcesOf(pod *v1.Pod, cpu CPULimits) Resources {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	limits := lifecycle.PodLimits(pod, resourcehelper.PodResourcesOptions{})
	out := Resources{CPUShares: MinCPUShares, HugePages: HugePages(requests)}
	class := lifecycle.QOSClass(pod)
	if class == v1.PodQOSBestEffort {
		return out
	}
	out.CPUShares = CPUShares(requests.Cpu().MilliValue())
	if _, limited := limits[v1.ResourceCPU]; limited {
		out.CPUQuota, out.CPUPeriod = cpu.Quota(limits.Cpu().MilliValue()), cpu.PeriodMicroseconds()
		if cpu.Off || cpu.AnyOwn(pod) {
			out.CPUQuota = NoQuota
		}
	}
	out.MemoryLimit = limits.Memory().Value()
	return out
}

// HugePages picks the hugepages out of a list, in bytes by the cgroupfs name of
// the page size.
func HugePages(list v1.ResourceList) map[string]uint64 {
	out := map[string]uint64{}
	for name, quantity := range list {
		sizeText, isHugePages := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
		if !isHugePages {
			continue
		}
		if size, err := resource.ParseQuantity(sizeText); err == nil {
			out[pageSizeName(size.Value())] += uint64(quantity.Value())
		}
	}
	return out
}

// pageSizeName is cgroupfs' name of a page size.
func pageSizeName(bytes int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	i := 0
	for bytes >= 1024 && i < len(units)-1 {
		bytes /= 1024
		i++
	}
	return fmt.Sprintf("%d%s", bytes, units[i])
}

// cgroup converts to the library's terms. Devices are the containers' own
// business, and a pod's cgroup is never frozen while it is set.
func (r Resources) cgroup() *cgroups.Resources {
	out := &cgroups.Resources{
		SkipDevices: true, SkipFreezeOnSet: true,
		CpuQuota: r.CPUQuota, Memory: r.MemoryLimit,
	}
	if r.CPUQuota != 0 {
		out.CpuPeriod = uint64(r.CPUPeriod)
	}
	switch {
	case !cgroups.IsCgroup2UnifiedMode():
		out.CpuShares = r.CPUShares
	case r.CPUShares > 0:
		out.CpuWeight, out.Unified = cpuWeight(r.CPUShares), r.Unified
	default:
		out.Unified = r.Unified
	}
	if r.PidsLimit > 0 {
		out.PidsLimit = &r.PidsLimit
	}
	if len(r.HugePages) > 0 {
		out.HugetlbLimit = hugetlbLimits(r.HugePages)
	}
	return out
}

// hugetlbLimits sets every page size of the host, the ones not asked for to 0.
func hugetlbLimits(pages map[string]uint64) []*cgroups.HugepageLimit {
	all := maps.Clone(pages)
	for _, size := range cgroups.HugePageSizes() {
		all[size] += 0
	}
	var out []*cgroups.HugepageLimit
	for _, size := range slices.Sorted(maps.Keys(all)) {
		out = append(out, &cgroups.HugepageLimit{Pagesize: size, Limit: all[size]})
	}
	return out
}

// Resize brings a pod's cgroup to the least values that are enough for it in each
// of some states: with one it has that state's, with two it has room for the way
// from one to the other (A-ACT-12). The class, and so the path, stays.
func (d Driver) Resize(states []*v1.Pod) error {
	pod := states[0]
	resources := EnoughFor(states, d.CPULimits)
	resources.PidsLimit, resources.Unified = d.PidsLimit, d.MemoryQoS.OfPod(states[len(states)-1])
	names := d.names(lifecycle.QOSClass(pod), pod.UID)
	m, err := d.create(names, resources)
	if err != nil {
		return fmt.Errorf("resize cgroup %s: %w", d.path(names), err)
	}
	return errors.Join(d.setLevelShares(lifecycle.QOSClass(pod), weightFolder(m, filepath.Dir)), d.setLevelMemory())
}

// EnoughFor is the least that is enough for a pod in each of some states, of
// which there is at least one.
func EnoughFor(states []*v1.Pod, cpu CPULimits) Resources {
	enough := ResourcesOf(states[0], cpu)
	for _, pod := range states[1:] {
		r := ResourcesOf(pod, cpu)
		enough.CPUShares = max(enough.CPUShares, r.CPUShares)
		enough.CPUQuota = greaterLimit(enough.CPUQuota, r.CPUQuota)
		enough.MemoryLimit = greaterLimit(enough.MemoryLimit, r.MemoryLimit)
	}
	return enough
}

// greaterLimit takes 0 for no limit.
func greaterLimit(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// MilliCPUOfShares is the CPU request that shares stand for, rounded up, in
// thousandths of a CPU (A-CST-15).
func MilliCPUOfShares(shares int64) int64 { return (shares*1000 + 1023) / 1024 }

const (
	// MinCPUShares is what a request of no CPU amounts to.
	MinCPUShares = 2

	maxCPUShares = 262_144
	maxCPUWeight = 10_000
	minCPUQuota  = 1_000
)

// CPULimits is how CPU limits are enforced, the kubelet's cpuCFSQuota and
// cpuCFSQuotaPeriod. The zero value enforces them in periods of 100 ms.
type CPULimits struct {
	Off    bool          // no container is throttled, whatever its limit
	Period time.Duration // 0: DefaultCPUPeriod
	// OwnCPUs says which containers have CPUs for themselves: neither they nor their pods are
	// throttled (A-NUMA-18); nil: none has.
	OwnCPUs func(pod types.UID, container string) bool
}

// Own says whether a container has CPUs for itself.
func (l CPULimits) Own(pod *v1.Pod, container string) bool {
	return l.OwnCPUs != nil && l.OwnCPUs(pod.UID, container)
}

// AnyOwn says whether a container of a pod has CPUs for itself.
func (l CPULimits) AnyOwn(pod *v1.Pod) bool {
	has := func(c v1.Container) bool { return l.Own(pod, c.Name) }
	return slices.ContainsFunc(pod.Spec.InitContainers, has) || slices.ContainsFunc(pod.Spec.Containers, has)
}

// DefaultCPUPeriod is the CFS period of the kernel and of Kubernetes (A-CRI-7).
const DefaultCPUPeriod = 100 * time.Millisecond

// PeriodMicroseconds is the CFS period.
func (l CPULimits) PeriodMicroseconds() int64 {
	return cmp.Or(l.Period, DefaultCPUPeriod).Microseconds()
}

// Quota converts a CPU limit in thousandths of a CPU to microseconds per period
// (A-CRI-7); 0 stays 0, which means no limit. It is not for limits that are off.
func (l CPULimits) Quota(milliCPU int64) int64 {
	if milliCPU == 0 {
		return 0
	}
	return max(milliCPU*l.PeriodMicroseconds()/1000, minCPUQuota)
}

// CPUShares converts a CPU request in thousandths of a CPU to shares (A-CRI-7).
func CPUShares(milliCPU int64) uint64 {
	return uint64(min(max(milliCPU*1024/1000, MinCPUShares), maxCPUShares))
}

// cpuWeight converts shares to the weight of cgroup v2, in the linear way
// Kubernetes does for pod cgroups.
func cpuWeight(shares uint64) uint64 {
	return 1 + (shares-MinCPUShares)*(maxCPUWeight-1)/(maxCPUShares-MinCPUShares)
}
