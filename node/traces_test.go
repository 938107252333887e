package node

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	healthserver "google.golang.org/grpc/health"
	healthapi "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1 "k8s.io/component-base/tracing/api/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/telemetry/otlptest"
)

func newTraces(t *testing.T, endpoint string, perMillion int32) *traces {
	t.Helper()
	return assert.Get(openTraces(t.Context(), &v1.TracingConfiguration{Endpoint: &endpoint, SamplingRatePerMillion: &perMillion}, "worker-1", slog.New(slog.DiscardHandler))).Must(t)
}

// one is the only span that the collector was sent.
func onlySpan(t *testing.T, c *otlptest.Collector) otlptest.Span {
	t.Helper()
	spans := c.Spans()
	assert.Require(t, len(spans) == 1, "the collector has %d spans: %+v", len(spans), spans)
	return spans[0]
}

// Without a configuration nothing is wrapped (A-TRC-1).
func TestNoTraces(t *testing.T) {
	traces, err := openTraces(t.Context(), nil, "worker-1", nil)
	assert.Require(t, traces == nil && err == nil, "got %v, %v", traces, err)
	traces.Close(t.Context())
	handler := http.NewServeMux()
	if traces.Tracer() != nil || traces.Calls() != nil || traces.API(http.DefaultTransport) != http.DefaultTransport || traces.Served(false, handler) != http.Handler(handler) {
		t.Error("something is traced")
	}
}

// Without a configuration the environment says where traces go, of whom and which (A-TRC-8); with one it says
// nothing of that, also where nobody understands it.
func TestEnvironment(t *testing.T) {
	collector, configured := otlptest.New(t), otlptest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "rack=a3")
	traces := assert.Get(openTraces(t.Context(), nil, "worker-1", slog.New(slog.DiscardHandler))).Must(t)
	call(t, traces)
	traces.Close(t.Context())
	if span := onlySpan(t, collector); span.Resource["service.name"] != "kubelet" || span.Resource["host.name"] != "worker-1" || span.Resource["rack"] != "a3" {
		t.Errorf("A-TRC-8: the resource is %v", span.Resource)
	}
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	traces = assert.Get(openTraces(t.Context(), nil, "worker-1", slog.New(slog.DiscardHandler))).Must(t)
	call(t, traces)
	traces.Close(t.Context())
	onlySpan(t, collector) // the one from before

	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon")
	assert.Fails(t, assert.ErrorOf(openTraces(t.Context(), nil, "worker-1", slog.New(slog.DiscardHandler))), "A-TRC-8: a protocol that nobody knows is taken")
	traces = newTraces(t, configured.Endpoint, 1_000_000)
	call(t, traces)
	traces.Close(t.Context())
	onlySpan(t, collector)
	onlySpan(t, configured)
}

// A call is a span, and the other side is told of it (A-TRC-2); whose spans they are is
// in their resource (A-TRC-1).
func TestCalls(t *testing.T) {
	collector := otlptest.New(t)
	traces := newTraces(t, collector.Endpoint, 1_000_000)
	heard := call(t, traces)
	traces.Close(t.Context())
	span := onlySpan(t, collector)
	assert.Equal(t, "grpc.health.v1.Health/Check", span.Name, "the span")
	assert.Equal(t, "00-"+span.Trace+"-"+span.ID+"-01", heard, "the other side was told")
	service, name := span.Resource["service.name"], span.Resource["host.name"]
	assert.True(t, service == "kubelet" && name == "worker-1", "the resource is %q on %q", service, name)
}

// call returns the traceparent that came with a call.
func call(t *testing.T, traces *traces) (traceparent string) {
	t.Helper()
	l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if values := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(values) == 1 {
			traceparent = values[0]
		}
		return next(ctx, r)
	}))
	healthapi.RegisterHealthServer(server, healthserver.NewServer())
	go func() { _ = server.Serve(l) }() // until Stop
	defer server.Stop()
	conn := assert.Get(grpc.NewClient(l.Addr().String(), append(traces.Calls(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)).Must(t)
	defer func() { _ = conn.Close() }()
	assert.Must(t, assert.ErrorOf(healthapi.NewHealthClient(conn).Check(t.Context(), &healthapi.HealthCheckRequest{})))
	return traceparent
}

// A request to the API server is a span that it is told of (A-TRC-3), and what it leads to
// is in the same trace on the secure port, and linked with it on the other (A-TRC-4).
func TestRequests(t *testing.T) {
	for _, public := range []bool{false, true} {
		collector := otlptest.New(t)
		traces := newTraces(t, collector.Endpoint, 1_000_000)
		mux := http.NewServeMux()
		mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(http.ResponseWriter, *http.Request) {})
		server := httptest.NewServer(traces.Served(public, mux))
		client := http.Client{Transport: traces.API(http.DefaultTransport)}
		answer := assert.Get(client.Get(server.URL + "/containerLogs/default/web/main")).Must(t)
		answer.Body.Close()
		server.Close()
		traces.Close(t.Context())
		asked, served := collector.Named("HTTP GET"), collector.Named("/containerLogs/{namespace}/{pod}/{container}")
		assert.Require(t, len(asked) == 1 && len(served) == 1, "public %v: the collector has %+v", public, collector.Spans())
		if public {
			assert.True(t, served[0].Trace != asked[0].Trace && fmt.Sprint(served[0].Links) == fmt.Sprint([]string{asked[0].Trace}),
				"the request is not only linked: %+v, %+v", asked, served)
		} else if served[0].Parent != asked[0].ID || served[0].Trace != asked[0].Trace {
			t.Errorf("the request is not below the client's: %+v, %+v", asked, served)
		}
	}
}

// Nothing is sent at a rate of 0 but what others trace (A-TRC-1).
func TestRate(t *testing.T) {
	collector := otlptest.New(t)
	traces := newTraces(t, collector.Endpoint, 0)
	heard := call(t, traces)
	assert.True(t, strings.HasSuffix(heard, "-00"), "the other side was told %q", heard)
	handler := traces.Served(false, http.NotFoundHandler())
	for _, flags := range []string{"00", "01"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-"+flags)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	traces.Close(t.Context())
	span := onlySpan(t, collector)
	assert.True(t, span.Trace == "0123456789abcdef0123456789abcdef" && span.Parent == "0123456789abcdef", "the span is %+v", span)
}

// A collector that isn't there is reported once, and holds up the end for a moment only (A-TRC-1).
func TestNoCollector(t *testing.T) {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_BSP_EXPORT_TIMEOUT"} {
		t.Setenv(variable, "3600000") // else OpenTelemetry gives up by itself, after 10 s
	}
	var log bytes.Buffer
	logTo := slog.New(slog.NewTextHandler(&log, nil))
	endpoint, rate := "127.0.0.1:1", int32(1_000_000)
	traces := assert.Get(openTraces(t.Context(), &v1.TracingConfiguration{Endpoint: &endpoint, SamplingRatePerMillion: &rate}, "worker-1", logTo)).Must(t)
	_, span := traces.Tracer().Start(t.Context(), "lost")
	span.End()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		traces.Close(t.Context())
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("the end waits for the collector")
	}
	otel.Handle(fmt.Errorf("again"))
	text := log.String()
	assert.True(t, strings.Count(text, "traces or metrics can't be sent") == 1, "the log is %q", text)
}
