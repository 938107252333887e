package stats

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// apiRequests count the requests to the API server.
type apiRequests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newAPIRequests(f factory) apiRequests {
	return apiRequests{
		total: f.counters("rest_client_requests_total", "Number of HTTP requests, partitioned by status code, method, and host.", "code", "method", "host"),
		duration: f.histograms("rest_client_request_duration_seconds", "Request latency in seconds. Broken down by verb, and host.",
			[]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, "verb", "host"),
	}
}

// API is a transport to the API server whose requests are counted.
func (m *Metrics) API(next http.RoundTripper) http.RoundTripper { return roundTripper{next, m.api} }

type roundTripper struct {
	next http.RoundTripper
	apiRequests
}

// RoundTrip counts a request.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := t.next.RoundTrip(r)
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	t.total.WithLabelValues(code, r.Method, r.URL.Host).Inc()
	t.duration.WithLabelValues(r.Method, r.URL.Host).Observe(time.Since(began).Seconds())
	return response, err
}

// WrappedRoundTripper lets client-go reach the transport inside.
func (t roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// Config is what figures are made of. It isn't changed once Stats are made.
type Config struct {
	NodeName string
	Runtime  runtimeapi.RuntimeServiceClient
	Images   runtimeapi.ImageServiceClient
	// RuntimeSocket is the path of the runtime's socket, which tells its process.
	RuntimeSocket string
	Pods          Pods
	// VolumePeriod is how long the measured size of a volume is good
	// (volumeStatsAggPeriod); below zero volumes are not measured.
	VolumePeriod time.Duration
	// Measured is told how long it took to measure a volume, and in which way (A-VOL-8).
	Measured func(source string, took time.Duration)
	Log      *slog.Logger
}

// Pods are the node's pods and where they are on this machine.
type Pods struct {
	// List are those that the sources want, each with its status; never changed.
	List func() []*v1.Pod
	// Foreign are pods of the same runtime that are not this node's; nil: none.
	Foreign func(uid types.UID) bool
	// Dir has a folder per pod, by UID.
	Dir string
	// LogDir is the folder of a pod's logs.
	LogDir func(pod *v1.Pod) string
	// Cgroup is the path of a pod's cgroup, CgroupRoot that of all pods together,
	// as below the root of each hierarchy.
	Cgroup     func(pod *v1.Pod) string
	CgroupRoot string
	// Bound is what the claim of a volume is bound to; nil without an API server.
	Bound func(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error)
	// OfDriver asks the CSI driver of a pod's volume, by the name of the PersistentVolume or of an
	// inline volume; nil without an API server.
	OfDriver func(ctx context.Context, pod types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error)
}

// Stats answers what is used. Its methods may be called concurrently.
type Stats struct {
	Config
	begun time.Time
	boot  time.Time

	asking  singleflight.Group // of the runtime
	rates   rates
	volumes volumeSizes
}

// New prepares Stats; nothing is read yet but when the machine was started.
func New(c Config) *Stats {
	s := &Stats{Config: c, begun: time.Now()}
	s.rates.of = map[string]rate{}
	s.volumes.of = map[volumeKey]*volumeSize{}
	var err error
	if s.boot, err = bootTime(); err != nil {
		c.Log.Warn("can't read when the machine was started", "err", err)
	}
	return s
}

// served counts the requests to the node's API.
type served struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inflight *prometheus.GaugeVec
}

func newServed(f factory) served {
	labels := []string{"method", "path", "server_type", "long_running"}
	return served{
		total:    f.counters("kubelet_http_requests_total", "Number of the http requests received since the server started", labels...),
		duration: f.histograms("kubelet_http_requests_duration_seconds", "Duration in seconds to serve http requests", prometheus.DefBuckets, labels...),
		inflight: f.gauges("kubelet_http_inflight_requests", "Number of the inflight http requests", labels...),
	}
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
