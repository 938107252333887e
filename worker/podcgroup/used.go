package podcgroup

import (
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// Used is what a pod has used of the machine so far, all its containers together.
type Used struct {
	MemoryPeak  int64         // bytes; 0: the kernel doesn't tell
	MemoryLimit int64         // bytes; 0: none
	CPU         time.Duration // on all CPUs
	Throttled   time.Duration // for which its processes waited because of a CPU limit
	OOMKills    int64         // processes that the kernel has killed
}

// Used reads what the pod has used. A container's own cgroup is gone when its end is known;
// the pod's stays until the pod is gone.
func (d Driver) Used(pod *v1.Pod) (Used, error) {
	m, err := d.manager(d.names(lifecycle.QOSClass(pod), pod.UID), Resources{})
	if err != nil {
		return Used{}, fmt.Errorf("usage of pod %s: %w", pod.UID, err)
	}
	stats, err := m.GetStats()
	if err != nil {
		return Used{}, fmt.Errorf("usage of pod %s: %w", pod.UID, err)
	}
	memory, cpu := stats.MemoryStats.Usage, stats.CpuStats
	used := Used{
		MemoryPeak: bytes(memory.MaxUsage), MemoryLimit: bytes(memory.Limit),
		CPU: nanoseconds(cpu.CpuUsage.TotalUsage), Throttled: nanoseconds(cpu.ThrottlingData.ThrottledTime),
	}
	if kills, err := m.OOMKillCount(); err == nil { // else the kernel doesn't count them
		used.OOMKills = bytes(kills)
	}
	return used, nil
}

// noLimit is from where on a limit of memory is none: cgroup v1 has a number for that, less
// than a page below the largest one.
const noLimit = math.MaxInt64 - 1<<20

func bytes(n uint64) int64 {
	if n >= noLimit {
		return 0
	}
	return int64(n)
}

func nanoseconds(n uint64) time.Duration { return time.Duration(bytes(n)) }
