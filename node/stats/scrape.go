package stats

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// scraped is a handler of what collect reads for each request: nothing is kept of
// containers that have gone.
func scraped(log *slog.Logger, collect func(ctx context.Context, out chan<- prometheus.Metric)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once := prometheus.NewRegistry()
		once.MustRegister(Reading(func(out chan<- prometheus.Metric) { collect(r.Context(), out) }))
		gathered(once, log).ServeHTTP(w, r)
	})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// ResourceHandler answers /metrics/resource (KEP-727), which metrics-server reads.
func (s *Stats) ResourceHandler() http.Handler { return ResourceHandler(s.CPUAndMemory, s.Log) }

// ResourceHandler answers with what measure says of the CPU and memory of a node and its pods.
func ResourceHandler(measure func(context.Context) (*statsapi.Summary, error), log *slog.Logger) http.Handler {
	return scraped(log, func(ctx context.Context, out chan<- prometheus.Metric) {
		failed := 0.0
		summary, err := measure(ctx)
		if err != nil {
			failed = 1
			log.Warn("can't measure the resource usage of pods", "err", err)
		} else {
			resources{out}.summary(summary)
		}
		out <- gauge(resourceError, failed)
	})
}

var (
	ofContainer = []string{"container", "pod", "namespace"}
	ofPod       = []string{"pod", "namespace"}

	nodeCPU        = desc("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds")
	nodeMemory     = desc("node_memory_working_set_bytes", "Current working set of the node in bytes")
	nodeSwap       = desc("node_swap_usage_bytes", "Current swap usage of the node in bytes. Reported only on non-windows systems")
	containerCPU   = desc("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds", ofContainer...)
	containerRAM   = desc("container_memory_working_set_bytes", "Current working set of the container in bytes", ofContainer...)
	containerSwap  = desc("container_swap_usage_bytes", "Current amount of the container swap usage in bytes. Reported only on non-windows systems", ofContainer...)
	swapLimit      = desc("container_swap_limit_bytes", "Current amount of the container swap limit in bytes. Reported only on non-windows systems", ofContainer...)
	containerStart = desc("container_start_time_seconds", "Start time of the container since unix epoch in seconds", ofContainer...)
	podCPU         = desc("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", ofPod...)
	podMemory      = desc("pod_memory_working_set_bytes", "Current working set of the pod in bytes", ofPod...)
	podSwap        = desc("pod_swap_usage_bytes", "Current amount of the pod swap usage in bytes. Reported only on non-windows systems", ofPod...)
	resourceError  = desc("resource_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise")
)

// resources writes a summary as metrics, each with the time when it was read.
type resources struct{ out chan<- prometheus.Metric }

func (r resources) summary(s *statsapi.Summary) {
	r.cpu(nodeCPU, s.Node.CPU)
	r.memory(nodeMemory, s.Node.Memory)
	r.swap(nodeSwap, s.Node.Swap)
	for _, pod := range s.Pods {
		labels := []string{pod.PodRef.Name, pod.PodRef.Namespace}
		for _, c := range pod.Containers {
			r.container(c, append([]string{c.Name}, labels...))
		}
		r.cpu(podCPU, pod.CPU, labels...)
		r.memory(podMemory, pod.Memory, labels...)
		r.swap(podSwap, pod.Swap, labels...)
	}
}

func (r resources) container(c statsapi.ContainerStats, labels []string) {
	r.out <- gauge(containerStart, float64(c.StartTime.UnixNano())/float64(time.Second), labels...)
	r.cpu(containerCPU, c.CPU, labels...)
	r.memory(containerRAM, c.Memory, labels...)
	r.swap(containerSwap, c.Swap, labels...)
	if c.Swap != nil && c.Swap.SwapAvailableBytes != nil {
		r.timed(c.Swap.Time, gauge(swapLimit, float64(*c.Swap.SwapAvailableBytes+deref(c.Swap.SwapUsageBytes)), labels...))
	}
}

func (r resources) cpu(d *prometheus.Desc, used *statsapi.CPUStats, labels ...string) {
	if used != nil && used.UsageCoreNanoSeconds != nil {
		r.timed(used.Time, prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(*used.UsageCoreNanoSeconds)/float64(time.Second), labels...))
	}
}

func (r resources) memory(d *prometheus.Desc, used *statsapi.MemoryStats, labels ...string) {
	if used != nil && used.WorkingSetBytes != nil {
		r.timed(used.Time, gauge(d, float64(*used.WorkingSetBytes), labels...))
	}
}

func (r resources) swap(d *prometheus.Desc, used *statsapi.SwapStats, labels ...string) {
	if used != nil && used.SwapUsageBytes != nil {
		r.timed(used.Time, gauge(d, float64(*used.SwapUsageBytes), labels...))
	}
}

func (r resources) timed(at metav1.Time, m prometheus.Metric) {
	r.out <- prometheus.NewMetricWithTimestamp(at.Time, m)
}
