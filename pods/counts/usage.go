package counts

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/podcgroup"
)

var (
	cpuSeconds       = prometheus.NewDesc("lifepod_pod_cpu_seconds_total", "CPU time in seconds that the pod has used.", nil, nil)
	throttledSeconds = prometheus.NewDesc("lifepod_pod_cpu_throttled_seconds_total", "Time in seconds that the pod's processes have waited because of a CPU limit.", nil, nil)
	memoryPeak       = prometheus.NewDesc("lifepod_pod_memory_peak_bytes", "Most memory in bytes that the pod has used at a time.", nil, nil)
	oomKills         = prometheus.NewDesc("lifepod_pod_oom_kills_total", "Number of the pod's processes that the kernel has killed for lack of memory.", nil, nil)
)

// Usage is what one pod uses of the machine, measured when somebody asks. What was measured last stays when the
// pod is gone.
type Usage struct {
	pod  *v1.Pod
	read func(*v1.Pod) (podcgroup.Used, error)

	mu    sync.Mutex
	last  podcgroup.Used
	known bool
}

// NewUsage measures a pod by reading its cgroup.
func NewUsage(pod *v1.Pod, read func(*v1.Pod) (podcgroup.Used, error)) *Usage {
	return &Usage{pod: pod, read: read}
}

// Measure measures now, if the pod has a cgroup.
func (u *Usage) Measure() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if used, err := u.read(u.pod); err == nil && used.CPU >= u.last.CPU { // else it is gone, or going
		u.last, u.known = used, true
	}
}

// Describe is that of an unchecked collector: before the first measurement there is nothing.
func (u *Usage) Describe(chan<- *prometheus.Desc) {}

func (u *Usage) Collect(out chan<- prometheus.Metric) {
	u.Measure()
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.known {
		return
	}
	out <- prometheus.MustNewConstMetric(cpuSeconds, prometheus.CounterValue, u.last.CPU.Seconds())
	out <- prometheus.MustNewConstMetric(throttledSeconds, prometheus.CounterValue, u.last.Throttled.Seconds())
	out <- prometheus.MustNewConstMetric(oomKills, prometheus.CounterValue, float64(u.last.OOMKills))
	if u.last.MemoryPeak > 0 {
		out <- prometheus.MustNewConstMetric(memoryPeak, prometheus.GaugeValue, float64(u.last.MemoryPeak))
	}
}
