// Package otlptest is an OpenTelemetry collector for tests: what it is sent can be looked at.
package otlptest

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	metricsapi "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectorapi "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonapi "go.opentelemetry.io/proto/otlp/common/v1"
	traceapi "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/lifepod/lifepod/internal/assert"
)

// Collector takes spans and metrics by OTLP over gRPC and over HTTP.
type Collector struct {
	collectorapi.UnimplementedTraceServiceServer
	// Endpoint is its address for gRPC, as in a KubeletConfiguration.
	Endpoint string
	// URL is its address for HTTP, as in OTEL_EXPORTER_OTLP_ENDPOINT.
	URL string

	mu      sync.Mutex
	spans   []Span
	metrics map[string]Metric
	headers http.Header // of the last request over HTTP
}

// Span is one that the collector was sent.
type Span struct {
	Name, Error string
	Trace, ID   string // in hexadecimal, as in a traceparent
	Parent      string // the ID of another span; empty for the first of a trace
	Kind        traceapi.Span_SpanKind
	Began       time.Time
	Took        time.Duration
	Links       []string // traces
	Resource    map[string]string
	Attributes  map[string]string // those that are texts
}

// New serves until the test ends.
func New(t testing.TB) *Collector {
	t.Helper()
	l := assert.Get(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	c, server := &Collector{Endpoint: l.Addr().String(), metrics: map[string]Metric{}}, grpc.NewServer()
	collectorapi.RegisterTraceServiceServer(server, c)
	metricsapi.RegisterMetricsServiceServer(server, &metricsService{of: c})
	go func() { _ = server.Serve(l) }() // until Stop
	t.Cleanup(server.Stop)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		request := &collectorapi.ExportTraceServiceRequest{}
		c.serve(w, r, request, func() { _, _ = c.Export(r.Context(), request) }) // which takes everything
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		request := &metricsapi.ExportMetricsServiceRequest{}
		c.serve(w, r, request, func() { c.takeMetrics(request) })
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	c.URL = web.URL
	return c
}

// serve reads a request over HTTP.
func (c *Collector) serve(w http.ResponseWriter, r *http.Request, request proto.Message, take func()) {
	content, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(content, request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	take()
	c.mu.Lock()
	c.headers = r.Header
	c.mu.Unlock()
}

// Header is one of the last request over HTTP.
func (c *Collector) Header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers.Get(name)
}

// Export takes spans.
func (c *Collector) Export(_ context.Context, r *collectorapi.ExportTraceServiceRequest) (*collectorapi.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.GetResourceSpans() {
		of := texts(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Kind: s.GetKind(), Resource: of, Attributes: texts(s.GetAttributes()),
					Began: time.Unix(0, int64(s.GetStartTimeUnixNano())), Took: time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano()),
				}
				if s.GetStatus().GetCode() == traceapi.Status_STATUS_CODE_ERROR {
					span.Error = s.GetStatus().GetMessage()
				}
				for _, link := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(link.GetTraceId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
	return &collectorapi.ExportTraceServiceResponse{}, nil
}

func texts(attributes []*commonapi.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range attributes {
		if text, is := a.GetValue().GetValue().(*commonapi.AnyValue_StringValue); is {
			texts[a.GetKey()] = text.StringValue
		}
	}
	return texts
}

// Spans are those that were sent so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

func (c *Collector) Named(name string) []Span {
	return slices.DeleteFunc(c.Spans(), func(s Span) bool { return s.Name != name })
}
