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
	"github.com/prometheus/client_golang/prometheus/promauto"
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
	all := prometheus.NewRegistry()
	f := factory{promauto.With(all)}
	m := &Metrics{
		MetricsConfig: c, all: all, probes: newProbes(), slis: newSLIs(),
		runtime: newRuntimeCalls(f), api: newAPIRequests(f), served: newServed(f), pods: newPodCounts(f), evictions: newEvictionCounts(f), drivers: newDriverCounts(f),
		lives: map[types.UID]*life{}, users: map[types.UID]*usersStart{},
	}
	m.Register(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
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
	d := desc("kubelet_certificate_manager_"+whose+"_ttl_seconds",
		"Gauge of the TTL (time-to-live) of the Kubelet's "+whose+" certificate. The value is in seconds until certificate expiry (negative if already expired).")
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		if at := expires(); !at.IsZero() {
			out <- gauge(d, time.Until(at).Seconds())
		}
	}))
}

// Handler answers /metrics.
func (m *Metrics) Handler() http.Handler { return gathered(m.all, m.Log) }

// gathered is a handler of what a gatherer has.
func gathered(from prometheus.Gatherer, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(from, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	})
}

// Reading is a collector that reads when somebody asks.
type Reading func(out chan<- prometheus.Metric)

// Describe is that of an unchecked collector: what there is changes.
func (Reading) Describe(chan<- *prometheus.Desc) {}

// Collect reads.
func (r Reading) Collect(out chan<- prometheus.Metric) { r(out) }

// factory makes metrics that a registry has.
type factory struct{ promauto.Factory }

func (f factory) counter(name, help string) prometheus.Counter {
	return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (f factory) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (f factory) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return f.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func (f factory) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return f.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

func (f factory) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return f.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// startTime is when this process began.
func (f factory) startTime() {
	began := float64(time.Now().UnixNano()) / float64(time.Second)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "process_start_time_seconds", Help: "Start time of the process since unix epoch in seconds.",
	}, func() float64 { return began })
}

// slis are the health checks as metrics (KEP-3466).
type slis struct {
	registry *prometheus.Registry
	result   *prometheus.GaugeVec
	total    *prometheus.CounterVec
}

func newSLIs() slis {
	registry := prometheus.NewRegistry()
	f := factory{promauto.With(registry)}
	f.startTime()
	return slis{
		registry: registry,
		result:   f.gauges("kubernetes_healthcheck", "This metric records the result of a single healthcheck.", "name", "type"),
		total:    f.counters("kubernetes_healthchecks_total", "This metric records the results of all healthcheck.", "name", "type", "status"),
	}
}

// SLIsHandler answers /metrics/slis: it makes each check once.
func (m *Metrics) SLIsHandler(checks map[string]func() error) http.Handler {
	next := gathered(m.slis.registry, m.Log)
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
	start := desc("kubelet_graceful_shutdown_start_time_seconds", "Last graceful shutdown start time since unix epoch in seconds")
	end := desc("kubelet_graceful_shutdown_end_time_seconds", "Last graceful shutdown end time since unix epoch in seconds")
	m.Register(Reading(func(out chan<- prometheus.Metric) {
		began, ended := times()
		out <- gauge(start, sinceEpoch(began))
		out <- gauge(end, sinceEpoch(ended))
	}))
}

func sinceEpoch(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.Unix())
}
