package stats

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Shutdown adds when the last shutdown of the machine began to end pods, and when they had
// ended.
func (m *Metrics) Shutdown(times func() (began, ended time.Time)) {
	start := prometheus.NewDesc("kubelet_graceful_shutdown_start_time_seconds", "Last graceful shutdown start time since unix epoch in seconds", nil, nil)
	end := prometheus.NewDesc("kubelet_graceful_shutdown_end_time_seconds", "Last graceful shutdown end time since unix epoch in seconds", nil, nil)
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		began, ended := times()
		out <- prometheus.MustNewConstMetric(start, prometheus.GaugeValue, sinceEpoch(began))
		out <- prometheus.MustNewConstMetric(end, prometheus.GaugeValue, sinceEpoch(ended))
	}))
}

func sinceEpoch(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.Unix())
}
