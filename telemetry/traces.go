package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Traces takes spans to where the environment says.
type Traces struct{ exporters []trace.SpanExporter }

// TracesAsked says whether the environment asks for traces.
func TracesAsked() bool {
	list, err := traces.exporters(otlp, console)
	return len(list) > 0 || err != nil
}

// OpenTraces prepares to send spans; nil if the environment does not ask for it. The collector need not be there.
func OpenTraces(ctx context.Context) (*Traces, error) {
	list, err := traces.exporters(otlp, console)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return openTraces(ctx, list)
}

// Collector prepares to send spans to the collector of the environment, or to the one of this machine,
// also where the environment does not ask for it.
func Collector(ctx context.Context) (*Traces, error) { return openTraces(ctx, []string{otlp}) }

func openTraces(ctx context.Context, list []string) (*Traces, error) {
	if err := checkTraces(ctx, list); err != nil {
		return nil, err
	}
	t := &Traces{}
	for _, name := range list {
		exporter, err := openSpans(ctx, name)
		if err != nil {
			return nil, err
		}
		t.exporters = append(t.exporters, exporter)
	}
	return t, nil
}

func openSpans(ctx context.Context, name string) (trace.SpanExporter, error) {
	if name == console {
		return stdouttrace.New()
	}
	protocol, err := traces.protocol()
	if err != nil {
		return nil, err
	}
	if protocol == overGRPC {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

// Provider makes spans and sends them by and by, of the traces that OTEL_TRACES_SAMPLER chooses. Its Shutdown
// sends the last ones and closes t.
func (t *Traces) Provider(of *resource.Resource) *trace.TracerProvider {
	options := []trace.TracerProviderOption{trace.WithResource(of)}
	for _, exporter := range t.exporters {
		options = append(options, trace.WithBatcher(exporter))
	}
	return trace.NewTracerProvider(options...)
}

// most is how many spans are sent at once: collectors take messages of some MiB.
const most = 512

// Send sends spans, and waits until they are taken.
func (t *Traces) Send(ctx context.Context, spans []trace.ReadOnlySpan) (err error) {
	for _, exporter := range t.exporters {
		for chunk := range slices.Chunk(spans, most) {
			if failed := exporter.ExportSpans(ctx, chunk); failed != nil {
				err = errors.Join(err, fmt.Errorf("send traces: %w", failed))
				break
			}
		}
	}
	return err
}

// Close ends what is open for sending.
func (t *Traces) Close(ctx context.Context) (err error) {
	for _, exporter := range t.exporters {
		err = errors.Join(err, exporter.Shutdown(ctx))
	}
	return err
}
