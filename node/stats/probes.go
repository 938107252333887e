package stats

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/lifecycle"
)

// probes count the attempts of probes.
type probes struct {
	registry *prometheus.Registry
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newProbes() probes {
	registry := prometheus.NewRegistry()
	f := factory{promauto.With(registry)}
	f.startTime()
	return probes{
		registry: registry,
		total: f.counters("prober_probe_total", "Cumulative number of a liveness, readiness or startup probe for a container by result.",
			"probe_type", "result", "container", "pod", "namespace", "pod_uid"),
		duration: f.histograms("prober_probe_duration_seconds", "Duration in seconds for a probe response.", prometheus.DefBuckets,
			"probe_type", "container", "pod", "namespace"),
	}
}

// ProbesHandler answers /metrics/probes.
func (m *Metrics) ProbesHandler() http.Handler { return gathered(m.probes.registry, m.Log) }

// probed counts one attempt; one that was given up is none. How long failures took
// is not counted: it would be their timeouts.
func (p probes) probed(pod *v1.Pod, e lifecycle.Probe, fact lifecycle.Probed, took time.Duration) {
	if fact.Failure != nil {
		return
	}
	result := "unknown"
	switch fact.Outcome {
	case lifecycle.ProbeSuccess, lifecycle.ProbeWarning:
		result = "successful"
	case lifecycle.ProbeFailure:
		result = "failed"
	case lifecycle.ProbeError:
	}
	p.total.WithLabelValues(e.Kind.String(), result, e.Container, pod.Name, pod.Namespace, string(pod.UID)).Inc()
	if result != "failed" {
		p.duration.WithLabelValues(e.Kind.String(), e.Container, pod.Name, pod.Namespace).Observe(took.Seconds())
	}
}

// forget drops what was counted of a pod.
func (p probes) forget(pod *v1.Pod) {
	p.total.DeletePartialMatch(prometheus.Labels{"pod_uid": string(pod.UID)})
	p.duration.DeletePartialMatch(prometheus.Labels{"pod": pod.Name, "namespace": pod.Namespace})
}
