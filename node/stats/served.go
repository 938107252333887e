package stats

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// served counts the requests to the node's API.
type served struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inflight *prometheus.GaugeVec
}

func newServed() served {
	labels := []string{"method", "path", "server_type", "long_running"}
	return served{
		total:    counterVec("kubelet_http_requests_total", "Number of the http requests received since the server started", labels...),
		duration: histogram("kubelet_http_requests_duration_seconds", "Duration in seconds to serve http requests", prometheus.DefBuckets, labels...),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubelet_http_inflight_requests", Help: "Number of the inflight http requests"}, labels),
	}
}

func (s served) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.total, s.duration, s.inflight}
}

// knownPaths and knownMethods bound what clients can make of labels; all else is other.
var (
	knownPaths = []string{
		"attach", "checkpoint", "configz", "containerLogs", "debug", "exec", "flagz", "healthz", "logs", "metrics", "metrics/cadvisor",
		"metrics/probes", "metrics/resource", "metrics/slis", "pods", "portForward", "run", "runningpods", "stats", "statusz",
	}
	knownMethods = []string{"OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"}
	longRunning  = []string{"exec", "attach", "portForward", "debug"}
)

// HTTP counts what a handler serves; serverType is readwrite or readonly.
func (m *Metrics) HTTP(serverType string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		path := rootOf(r.URL.Path)
		method := r.Method
		if !slices.Contains(knownMethods, method) {
			method = "other"
		}
		labels := []string{method, path, serverType, strconv.FormatBool(slices.Contains(longRunning, path))}
		m.served.total.WithLabelValues(labels...).Inc()
		inflight := m.served.inflight.WithLabelValues(labels...)
		inflight.Inc()
		defer func() {
			inflight.Dec()
			m.served.duration.WithLabelValues(labels...).Observe(time.Since(began).Seconds())
		}()
		next.ServeHTTP(w, r)
	})
}

// rootOf is the first part of a path, of metrics the second, too.
func rootOf(path string) string {
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3)
	root := parts[0]
	if root == "metrics" && len(parts) > 1 {
		root += "/" + parts[1]
	}
	if !slices.Contains(knownPaths, root) {
		return "other"
	}
	return root
}
