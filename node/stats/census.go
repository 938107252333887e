package stats

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods/counts"
	"github.com/lifepod/lifepod/roster/pressure"
)

// MetricsPod is where a pod of the node stands.
type MetricsPod struct {
	Status    *v1.PodStatus
	Priority  int32
	Static    bool
	Desired   bool   // its source has it
	Runtime   bool   // only the runtime knows it
	Lifecycle string // sync, terminating or terminated; empty: its life has not begun
}

var (
	runningPods         = desc("kubelet_running_pods", "Number of pods that have a running pod sandbox")
	runningContainers   = desc("kubelet_running_containers", "Number of containers currently running", "container_state")
	desiredPods         = desc("kubelet_desired_pods", "The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.", "static")
	activePods          = desc("kubelet_active_pods", "The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.", "static")
	mirrorPods          = desc("kubelet_mirror_pods", "The number of mirror pods the kubelet will try to create (one per admitted static pod)")
	workingPods         = desc("kubelet_working_pods", "Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from local configuration or force deleted in the API and consumes resources that are not otherwise visible.", "lifecycle", "config", "static")
	ephemeralContainers = desc("kubelet_managed_ephemeral_containers", "Current number of ephemeral containers in pods managed by this kubelet.")
	pendingResizes      = desc("kubelet_pod_pending_resizes", "Number of pending resizes for pods, by whether they are deferred or infeasible, and by the pods' priority.", "reason", "priority_bucket")
	podCertificates     = desc("kubelet_podcertificate_states", "Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.", "signer_name", "state")
	resizing            = desc("kubelet_pod_in_progress_resizes", "Number of in-progress resizes for pods.")
)

// Census adds how many pods there are, counted when somebody asks (B-WRK-26).
func (m *Metrics) Census(pods func() []MetricsPod) {
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		c := newCensus()
		for _, pod := range pods() {
			c.add(pod)
		}
		c.collect(out)
	}), counts.Census(func() (list []*v1.PodStatus) {
		for _, pod := range pods() {
			list = append(list, pod.Status)
		}
		return list
	}))
}

// PodCertificates adds how many podCertificate sources there are, by signer and state.
func (m *Metrics) PodCertificates(each func(tell func(signer, state string))) {
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		c := census{}
		each(func(signer, state string) { c.count(podCertificates, 1, signer, state) })
		c.collect(out)
	}))
}

func (c census) collect(out chan<- prometheus.Metric) {
	for labels, n := range c {
		var values []string
		if labels.values != "" {
			values = strings.Split(strings.TrimSuffix(labels.values, "|"), ",")
		}
		out <- gauge(labels.of, float64(n), values...)
	}
}

// census is how many there are, by metric and labels.
type census map[cell]int

type cell struct {
	of     *prometheus.Desc
	values string // joined by a comma, with a bar behind: a value may be empty
}

func (c census) count(of *prometheus.Desc, by int, values ...string) {
	joined := ""
	if len(values) > 0 {
		joined = strings.Join(values, ",") + "|"
	}
	c[cell{of, joined}] += by
}

// newCensus has all that is counted, as none.
func newCensus() census {
	c := census{}
	for _, of := range []*prometheus.Desc{runningPods, mirrorPods, ephemeralContainers, resizing} {
		c.count(of, 0)
	}
	c.count(runningContainers, 0, "running")
	for _, static := range []string{"", "true"} {
		c.count(desiredPods, 0, static)
		c.count(activePods, 0, static)
	}
	for _, lifecycle := range []string{"sync", "terminating", "terminated"} {
		for _, config := range []string{"desired", "orphan"} {
			c.count(workingPods, 0, lifecycle, config, "")
			c.count(workingPods, 0, lifecycle, config, "true")
		}
		c.count(workingPods, 0, lifecycle, "runtime_only", "unknown")
	}
	return c
}

func (c census) add(pod MetricsPod) {
	static := staticLabel(pod.Static)
	if pod.Desired {
		c.count(desiredPods, 1, static)
	}
	if pod.Desired && pod.Static {
		c.count(mirrorPods, 1)
	}
	switch {
	case pod.Lifecycle == "":
		return
	case pod.Runtime:
		c.count(workingPods, 1, pod.Lifecycle, "runtime_only", "unknown")
	case pod.Desired:
		c.count(workingPods, 1, pod.Lifecycle, "desired", static)
	default:
		c.count(workingPods, 1, pod.Lifecycle, "orphan", static)
	}
	if pod.Lifecycle != "terminated" && !lifecycle.Terminal(pod.Status.Phase) {
		c.count(activePods, 1, static)
	}
	c.conditions(pod)
	c.containers(pod.Status)
}

func (c census) conditions(pod MetricsPod) {
	for _, condition := range pod.Status.Conditions {
		if condition.Status != v1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case v1.PodReadyToStartContainers:
			c.count(runningPods, 1)
		case v1.PodResizePending:
			c.count(pendingResizes, 1, strings.ToLower(condition.Reason), priorityBucket(pod.Priority))
		case v1.PodResizeInProgress:
			c.count(resizing, 1)
		}
	}
}

// priorityBucket is how the kubelet's metrics class a priority.
func priorityBucket(priority int32) string {
	switch {
	case priority >= 2_000_000_000:
		return "system-critical"
	case priority >= 100_000:
		return "high"
	case priority > 0:
		return "medium"
	case priority == 0:
		return "normal"
	case priority > -1000:
		return "low"
	}
	return "very-low"
}

func (c census) containers(status *v1.PodStatus) {
	c.count(ephemeralContainers, len(status.EphemeralContainerStatuses))
	for _, s := range allStatuses(status) {
		switch {
		case s.State.Running != nil:
			c.count(runningContainers, 1, "running")
		case s.State.Terminated != nil:
			c.count(runningContainers, 1, "exited")
		}
	}
}

// evictionCounts count pods that had to go: because the node ran short of something, because
// they exceeded a limit of their own, or to make room for others.
type evictionCounts struct {
	evicted *prometheus.CounterVec
	age     *prometheus.HistogramVec

	preempted *prometheus.CounterVec
}

func newEvictionCounts(f factory) evictionCounts {
	const label = "eviction_signal"
	return evictionCounts{
		evicted: f.counters("kubelet_evictions", "Cumulative number of pod evictions by eviction signal", label),
		age:     f.histograms("kubelet_eviction_stats_age_seconds", "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal", prometheus.DefBuckets, label),

		preempted: f.counters("kubelet_preemptions", "Cumulative number of pod preemptions by preemption resource", "preemption_signal"),
	}
}

// Evicted counts an eviction by the first of the signals that demanded it, and how old
// their figures were.
func (m *Metrics) Evicted(signals []pressure.Signal, seen pressure.Observations) {
	m.evictions.evicted.WithLabelValues(string(signals[0])).Inc()
	for _, signal := range signals {
		m.evictions.age.WithLabelValues(string(signal)).Observe(time.Since(seen[signal].At).Seconds())
	}
}

// Preempted counts a pod that makes room for a critical one, by the resource that was
// missing first (B-PRE-2).
func (m *Metrics) Preempted(missing v1.ResourceName) {
	m.evictions.preempted.WithLabelValues(string(missing)).Inc()
}
