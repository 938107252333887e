package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.17.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"k8s.io/component-base/tracing"
	v1 "k8s.io/component-base/tracing/api/v1"

	"github.com/lifepod/lifepod/telemetry"
)

const (
	// tracedService is who the spans are of; the kubelet's, so that dashboards find a node of lifepod.
	tracedService = "kubelet"
	// tracedScope names the spans that lifepod makes itself.
	tracedScope = "github.com/lifepod/lifepod/node"
	// lastSpans is how long the end of a node may wait for the collector to take the last spans.
	lastSpans = 2 * time.Second
)

// traces are what a node does, sent to an OpenTelemetry collector as spans: calls of the runtime, requests to
// the API server and to the node's API. Package worker adds the spans of pods. The rules are A-TRC of the contract.
// Its methods may be called concurrently; of nil they change nothing.
type traces struct{ provider tracing.TracerProvider }

// openTraces prepares to send spans as a configuration wants it (A-TRC-1), without one as the environment does
// (A-TRC-8); nil if neither does. The collector need not be there: that something can't be sent is logged,
// also of metrics.
func openTraces(ctx context.Context, c *v1.TracingConfiguration, node string, log *slog.Logger) (*traces, error) {
	telemetry.OnFailure(func(err error) { log.Warn("traces or metrics can't be sent", "err", err) })
	if c == nil {
		return tracesOfEnvironment(ctx, node)
	}
	if telemetry.TracesAsked() {
		log.Warn("traces are sent as the configuration says (tracing), not as the environment does (OTEL_…)")
	}
	provider, err := tracing.NewProvider(ctx, c, nil, []resource.Option{
		resource.WithAttributes(semconv.ServiceName(tracedService), semconv.HostName(node)),
	})
	if err != nil {
		return nil, fmt.Errorf("prepare to send traces: %w", err)
	}
	return &traces{provider}, nil
}

func tracesOfEnvironment(ctx context.Context, node string) (*traces, error) {
	to, err := telemetry.OpenTraces(ctx)
	if to == nil || err != nil {
		return nil, err
	}
	of, err := telemetry.Resource(ctx, tracedService, semconv.HostName(node))
	if err != nil {
		return nil, err
	}
	return &traces{to.Provider(of)}, nil
}

// Close sends the last spans, as far as the collector takes them soon.
func (t *traces) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
	defer done()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// Tracer makes spans of what lifepod does itself; nil if nothing is traced.
func (t *traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(tracedScope)
}

// Span begins a span, which end ends.
func (t *traces) Span(ctx context.Context, name string) (within context.Context, end func()) {
	if t == nil {
		return ctx, func() {}
	}
	ctx, span := t.Tracer().Start(ctx, name)
	return ctx, func() { span.End() }
}

// Calls are options of a connection whose calls are traced and tell the other side of the
// trace that they are part of (A-TRC-2).
func (t *traces) Calls() []grpc.DialOption {
	if t == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(
		otelgrpc.WithTracerProvider(t.provider), otelgrpc.WithPropagators(tracing.Propagators()),
		otelgrpc.WithMessageEvents(otelgrpc.ReceivedEvents, otelgrpc.SentEvents),
	))}
}

// API is a transport to the API server whose requests are traced (A-TRC-3).
func (t *traces) API(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return tracing.WrapperFor(t.provider)(next)
}

// Served traces the requests that a handler of the node's API answers. Of a public one, whom
// everybody may ask, the client has no say in what is traced (A-TRC-4).
func (t *traces) Served(public bool, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	options := []otelhttp.Option{
		otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(tracing.Propagators()),
		otelhttp.WithSpanNameFormatter(routeOf),
	}
	if public {
		options = append(options, otelhttp.WithPublicEndpointFn(func(*http.Request) bool { return true }))
	}
	return otelhttp.NewHandler(next, tracedService, options...)
}

// routeOf names a span by the path as the node's API has it, with names for what differs:
// /containerLogs/{namespace}/{pod}/{container}. What it does not have is the service's.
func routeOf(service string, r *http.Request) string {
	_, path, found := strings.Cut(r.Pattern, "/")
	if !found {
		return service
	}
	return "/" + strings.TrimSuffix(path, "{$}")
}
