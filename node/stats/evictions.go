package stats

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/roster/pressure"
)

// evictionCounts count pods that had to go: because the node ran short of something, because
// they exceeded a limit of their own, or to make room for others.
type evictionCounts struct {
	evicted *prometheus.CounterVec
	age     *prometheus.HistogramVec

	preempted *prometheus.CounterVec
}

func newEvictionCounts() evictionCounts {
	const label = "eviction_signal"
	return evictionCounts{
		evicted: counterVec("kubelet_evictions", "Cumulative number of pod evictions by eviction signal", label),
		age:     histogram("kubelet_eviction_stats_age_seconds", "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal", prometheus.DefBuckets, label),

		preempted: counterVec("kubelet_preemptions", "Cumulative number of pod preemptions by preemption resource", "preemption_signal"),
	}
}

func (e evictionCounts) collectors() []prometheus.Collector {
	return []prometheus.Collector{e.evicted, e.age, e.preempted}
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
