package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lifepod/lifepod/roster/pressure"
)

// evictionCounts count pods that had to go because the node ran short of something.
type evictionCounts struct {
	evicted *prometheus.CounterVec
	age     *prometheus.HistogramVec
}

func newEvictionCounts() evictionCounts {
	const label = "eviction_signal"
	return evictionCounts{
		evicted: counter("kubelet_evictions", "Cumulative number of pod evictions by eviction signal", label),
		age:     histogram("kubelet_eviction_stats_age_seconds", "Time between when stats are collected, and when pod is evicted based on those stats by eviction signal", prometheus.DefBuckets, label),
	}
}

func (e evictionCounts) collectors() []prometheus.Collector {
	return []prometheus.Collector{e.evicted, e.age}
}

// Evicted counts an eviction by the first of the signals that demanded it, and how old
// their figures were.
func (m *Metrics) Evicted(signals []pressure.Signal, seen pressure.Observations) {
	m.evictions.evicted.WithLabelValues(string(signals[0])).Inc()
	for _, signal := range signals {
		m.evictions.age.WithLabelValues(string(signal)).Observe(time.Since(seen[signal].At).Seconds())
	}
}
