package stats

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	v1 "k8s.io/api/core/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/roster/numa"
)

// ManagerCounts counts the admissions of a node (devices.ResourceCounts).
type ManagerCounts struct {
	cpus, cpuErrors       prometheus.Counter
	memory, memoryErrors  prometheus.Counter
	admitted, refused     prometheus.Counter
	took                  prometheus.Histogram
	aligned, alignedFails *prometheus.CounterVec

	scope      string // of alignment with NUMA nodes; empty: the policy doesn't guarantee any
	wholeCores bool   // containers have whole cores, or none
}

const (
	numaNode    = "numa_node"
	physicalCPU = "physical_cpu"
	uncoreCache = "uncore_cache"
)

// Managers counts for the policies of a configuration.
func (m *Metrics) Managers(k *kubeletconfig.KubeletConfiguration) *ManagerCounts {
	c := newManagerCounts(factory{promauto.With(m.all)})
	if k.TopologyManagerPolicy == numa.SingleNUMANode {
		c.scope = k.TopologyManagerScope
	}
	if k.CPUManagerPolicy == "static" {
		c.wholeCores = k.CPUManagerPolicyOptions["full-pcpus-only"] == "true"
		for _, boundary := range []string{physicalCPU, uncoreCache} {
			c.aligned.WithLabelValues(numa.ContainerScope, boundary)
		}
		c.alignedFails.WithLabelValues(numa.ContainerScope, physicalCPU)
	}
	return c
}

func newManagerCounts(f factory) *ManagerCounts {
	c := &ManagerCounts{
		cpus:         f.counter("kubelet_cpu_manager_pinning_requests_total", "The number of cpu core allocations which required pinning."),
		cpuErrors:    f.counter("kubelet_cpu_manager_pinning_errors_total", "The number of cpu core allocations which required pinning failed."),
		memory:       f.counter("kubelet_memory_manager_pinning_requests_total", "The number of memory pages allocations which required pinning."),
		memoryErrors: f.counter("kubelet_memory_manager_pinning_errors_total", "The number of memory pages allocations which required pinning that failed."),
		admitted:     f.counter("kubelet_topology_manager_admission_requests_total", "The number of admission requests where resources have to be aligned."),
		refused:      f.counter("kubelet_topology_manager_admission_errors_total", "The number of admission request failures where resources could not be aligned."),
		took:         f.histogram("kubelet_topology_manager_admission_duration_ms", "Duration in milliseconds to serve a pod admission request.", prometheus.ExponentialBuckets(.05, 2, 15)),
		aligned:      f.counters("kubelet_container_aligned_compute_resources_count", "Cumulative number of aligned compute resources allocated to containers by alignment type.", "scope", "boundary"),
		alignedFails: f.counters("kubelet_container_aligned_compute_resources_failure_count", "Cumulative number of failures to allocate aligned compute resources to containers by alignment type.", "scope", "boundary"),
	}
	for _, scope := range numa.Scopes { // they are there from the start
		c.aligned.WithLabelValues(scope, numaNode)
		c.alignedFails.WithLabelValues(scope, numaNode)
	}
	return c
}

var (
	shared             = desc("kubelet_cpu_manager_shared_pool_size_millicores", "The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.")
	given              = desc("kubelet_cpu_manager_exclusive_cpu_allocation_count", "The total number of CPUs exclusively allocated to containers running on this node")
	allocationsPerNUMA = desc("kubelet_cpu_manager_allocation_per_numa", "Number of CPUs allocated per NUMA node", numaNode)
)

// CPUs adds how many CPUs there are for whom, read when somebody asks.
func (m *Metrics) CPUs(figures func() numa.Figures) {
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		f := figures()
		out <- gauge(shared, float64(f.Shared)*1000)
		out <- gauge(given, float64(f.Given))
		for node, count := range f.On {
			out <- gauge(allocationsPerNUMA, float64(count), strconv.Itoa(node))
		}
	}))
}

// Admitted counts the admission of a pod.
func (c *ManagerCounts) Admitted(pod *v1.Pod, t numa.Tally, err error, took time.Duration) {
	c.cpus.Add(float64(t.CPUs.Containers))
	c.cpuErrors.Add(float64(t.CPUs.Errors))
	c.memory.Add(float64(t.Memory.Containers))
	c.memoryErrors.Add(float64(t.Memory.Errors))
	c.admitted.Inc()
	c.took.Observe(float64(took.Milliseconds()))
	if c.wholeCores {
		c.count(numa.ContainerScope, physicalCPU, t.CPUs.Containers-t.CPUs.Errors, t.CPUs.Errors)
	}
	c.count(numa.ContainerScope, uncoreCache, t.OneCache, 0)
	containers := len(pod.Spec.InitContainers) + len(pod.Spec.Containers)
	if c.scope == numa.PodScope {
		containers = 1
	}
	if err == nil {
		c.count(c.scope, numaNode, containers, 0)
		return
	}
	c.refused.Inc()
	if why, is := errors.AsType[*numa.Refusal](err); is && why.Reason == numa.Unaligned {
		c.count(c.scope, numaNode, 0, 1)
	}
}

func (c *ManagerCounts) count(scope, boundary string, aligned, failed int) {
	if scope != "" && aligned > 0 {
		c.aligned.WithLabelValues(scope, boundary).Add(float64(aligned))
	}
	if scope != "" && failed > 0 {
		c.alignedFails.WithLabelValues(scope, boundary).Add(float64(failed))
	}
}
