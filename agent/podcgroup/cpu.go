package podcgroup

const (
	// CPUPeriod is the CFS period in microseconds (A-CRI-7).
	CPUPeriod = 100_000
	// MinCPUShares is what a request of no CPU amounts to.
	MinCPUShares = 2

	maxCPUShares = 262_144
	maxCPUWeight = 10_000
	minCPUQuota  = 1_000
)

// CPUShares converts a CPU request in thousandths of a CPU to shares (A-CRI-7).
func CPUShares(milliCPU int64) uint64 {
	return uint64(min(max(milliCPU*1024/1000, MinCPUShares), maxCPUShares))
}

// CPUQuota converts a CPU limit in thousandths of a CPU to microseconds per
// CPUPeriod (A-CRI-7); 0 stays 0, which means no limit.
func CPUQuota(milliCPU int64) int64 {
	if milliCPU == 0 {
		return 0
	}
	return max(milliCPU*CPUPeriod/1000, minCPUQuota)
}

// cpuWeight converts shares to the weight of cgroup v2, in the linear way
// Kubernetes does for pod cgroups.
func cpuWeight(shares uint64) uint64 {
	return 1 + (shares-MinCPUShares)*(maxCPUWeight-1)/(maxCPUShares-MinCPUShares)
}
