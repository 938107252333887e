package stats

import (
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/types"
)

// MetricsConfig is what metrics need to know.
type MetricsConfig struct {
	NodeName string
	Version  string // of lifepod
	Log      *slog.Logger
}

// Metrics counts. Its methods may be called concurrently.
type Metrics struct {
	MetricsConfig
	all    *prometheus.Registry // /metrics
	probes probes
	slis   slis

	runtime runtimeCalls
	api     apiRequests
	served  served
	pods    podCounts

	evictions evictionCounts
	drivers   driverCounts

	mu    sync.Mutex
	lives map[types.UID]*life
	users map[types.UID]*usersStart
}

// NewMetrics begins to count.
func NewMetrics(c MetricsConfig) *Metrics {
	m := &Metrics{
		MetricsConfig: c, all: prometheus.NewRegistry(), probes: newProbes(), slis: newSLIs(),
		runtime: newRuntimeCalls(), api: newAPIRequests(), served: newServed(), pods: newPodCounts(), evictions: newEvictionCounts(), drivers: newDriverCounts(),
		lives: map[types.UID]*life{}, users: map[types.UID]*usersStart{},
	}
	m.Register(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Register(m.runtime.collectors()...)
	m.Register(m.api.collectors()...)
	m.Register(m.served.collectors()...)
	m.Register(m.pods.collectors()...)
	m.Register(m.evictions.collectors()...)
	m.Register(m.drivers.collectors()...)
	m.Register(m.pods.own.Collectors()...)
	m.constant("kubelet_node_name", "The node's name. The count is always 1.", 1, prometheus.Labels{"node": c.NodeName})
	m.constant("lifepod_build_info", "The version of lifepod. The count is always 1.", 1,
		prometheus.Labels{"version": c.Version, "go_version": runtime.Version()})
	version := 1.0
	if cgroups.IsCgroup2UnifiedMode() {
		version = 2
	}
	m.constant("kubelet_cgroup_version", "cgroup version on the hosts.", version, nil)
	return m
}

// All is what /metrics has.
func (m *Metrics) All() prometheus.Gatherer { return m.all }

// Register adds metrics that others have.
func (m *Metrics) Register(list ...prometheus.Collector) { m.all.MustRegister(list...) }

func (m *Metrics) constant(name, help string, value float64, labels prometheus.Labels) {
	m.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return value }))
}

// Certificate adds how long a certificate, the client's or the server's, is still
// good; there is none before it is there.
func (m *Metrics) Certificate(whose string, expires func() time.Time) {
	d := prometheus.NewDesc("kubelet_certificate_manager_"+whose+"_ttl_seconds",
		"Gauge of the TTL (time-to-live) of the Kubelet's "+whose+" certificate. The value is in seconds until certificate expiry (negative if already expired).", nil, nil)
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		if at := expires(); !at.IsZero() {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, time.Until(at).Seconds())
		}
	}))
}

// Handler answers /metrics.
func (m *Metrics) Handler() http.Handler { return m.handler(m.all) }

func (m *Metrics) handler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(m.Log.Handler(), slog.LevelWarn),
	})
}

// Reading is a collector that reads when somebody asks.
type Reading func(out chan<- prometheus.Metric)

// Describe is that of an unchecked collector: what there is changes.
func (Reading) Describe(chan<- *prometheus.Desc) {}

// Collect reads.
func (r Reading) Collect(out chan<- prometheus.Metric) { r(out) }

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

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
