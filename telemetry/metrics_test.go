package telemetry

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/telemetry/otlptest"
)

// counted is a registry with a counter and a histogram.
func counted() *client.Registry {
	r := client.NewRegistry()
	c := client.NewCounter(client.CounterOpts{Name: "lifepod_test_total"})
	c.Add(3)
	h := client.NewHistogram(client.HistogramOpts{Name: "lifepod_test_seconds", Buckets: []float64{1, 2}})
	h.Observe(1.5)
	r.MustRegister(c, h)
	return r
}

// A collector has what the registry has, at the latest when lifepod ends, by both protocols.
func TestMetricsAreSent(t *testing.T) {
	for _, protocol := range []string{overHTTP, overGRPC} {
		collector := otlptest.New(t)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", map[string]string{overHTTP: collector.URL, overGRPC: "http://" + collector.Endpoint}[protocol])
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
		t.Setenv("OTEL_SERVICE_NAME", "shop")
		of := assert.Get(Resource(t.Context(), "lifepod")).Must(t)
		m := assert.Get(OpenMetrics(t.Context(), counted(), of)).Must(t)
		assert.Must(t, m.Close(t.Context()))
		sent := collector.Metrics()
		assert.True(t, sent["lifepod_test_total"].Value == 3 && sent["lifepod_test_seconds"].Count == 1 && sent["lifepod_test_seconds"].Value == 1.5 &&
			sent["lifepod_test_total"].Resource["service.name"] == "shop", "%s: the collector has %+v", protocol, sent)
	}
}

// Prometheus scrapes them where the environment says, until the end.
func TestMetricsAreServed(t *testing.T) {
	l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	host, port, _ := net.SplitHostPort(l.Addr().String())
	t.Setenv("OTEL_METRICS_EXPORTER", "prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_HOST", host)
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_PORT", port)
	_, err := OpenMetrics(t.Context(), counted(), resource.Empty())
	assert.Require(t, err != nil && strings.Contains(err.Error(), "OTEL_METRICS_EXPORTER prometheus: "), "an address that somebody else has: %v", err)
	_ = l.Close()
	m := assert.Get(OpenMetrics(t.Context(), counted(), resource.Empty())).Must(t)
	url := "http://" + net.JoinHostPort(host, port) + "/metrics"
	answer := assert.Get(http.Get(url)).Must(t)
	page, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	assert.True(t, strings.Contains(string(page), "\nlifepod_test_total 3\n"), "the page is %s", page)
	assert.Must(t, m.Close(t.Context()))
	if answer, err := http.Get(url); err == nil {
		_ = answer.Body.Close()
		t.Error("it is served after the end")
	}
}

// What nobody asks for is not sent, and what nobody knows is refused.
func TestMetricsAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		variable, value string
		asked           bool
		refused         string
	}{
		"nothing":  {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1", false, ""},
		"endpoint": {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:1", true, ""},
		"unknown":  {"OTEL_METRICS_EXPORTER", "statsd", true, `OTEL_METRICS_EXPORTER "statsd": want otlp, console, prometheus or none`},
		"interval": {"OTEL_METRIC_EXPORT_INTERVAL", "10s", true, `OTEL_METRIC_EXPORT_INTERVAL "10s": want a number of milliseconds`},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "interval" {
				t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
			}
			t.Setenv(tc.variable, tc.value)
			assert.Equal(t, tc.asked, MetricsAsked(), "asked")
			m, err := OpenMetrics(t.Context(), client.NewRegistry(), resource.Empty())
			assert.True(t, (tc.refused != "" || err == nil) && (tc.refused == "" || err != nil && err.Error() == tc.refused) && (tc.refused != "" || (m != nil) == tc.asked),
				"%v, %v", m, err)
		})
	}
}
