package stats

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// slis are the health checks as metrics (KEP-3466).
type slis struct {
	registry *prometheus.Registry
	result   *prometheus.GaugeVec
	total    *prometheus.CounterVec
}

func newSLIs() slis {
	s := slis{
		registry: prometheus.NewRegistry(),
		result:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubernetes_healthcheck", Help: "This metric records the result of a single healthcheck."}, []string{"name", "type"}),
		total:    counterVec("kubernetes_healthchecks_total", "This metric records the results of all healthcheck.", "name", "type", "status"),
	}
	s.registry.MustRegister(s.result, s.total, startTime())
	return s
}

// SLIsHandler answers /metrics/slis: it makes each check once.
func (m *Metrics) SLIsHandler(checks map[string]func() error) http.Handler {
	next := m.handler(m.slis.registry)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, check := range checks {
			status, value := "success", 1.0
			if check() != nil {
				status, value = "error", 0
			}
			m.slis.result.WithLabelValues(name, "healthz").Set(value)
			m.slis.total.WithLabelValues(name, "healthz", status).Inc()
		}
		next.ServeHTTP(w, r)
	})
}
