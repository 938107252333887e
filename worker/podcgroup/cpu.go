package podcgroup

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
