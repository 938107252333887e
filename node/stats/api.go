package stats

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// apiRequests count the requests to the API server.
type apiRequests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newAPIRequests() apiRequests {
	return apiRequests{
		total: counterVec("rest_client_requests_total", "Number of HTTP requests, partitioned by status code, method, and host.", "code", "method", "host"),
		duration: histogram("rest_client_request_duration_seconds", "Request latency in seconds. Broken down by verb, and host.",
			[]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, "verb", "host"),
	}
}

func (a apiRequests) collectors() []prometheus.Collector {
	return []prometheus.Collector{a.total, a.duration}
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
