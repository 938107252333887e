package telemetry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
)

const (
	// chartScope names the spans.
	chartScope = "github.com/lifepod/lifepod/timeline"
	// chartService is who the spans are of, unless the environment names another one.
	chartService = "lifepod"
)

// SpansOf are the spans of charts, a resource for each pod. A bar that goes on ends with its chart. Of the traces
// those are left out that the sampler does not choose: that of the options, else of OTEL_TRACES_SAMPLER.
func SpansOf(ctx context.Context, charts []*timeline.Chart, options ...sdk.TracerProviderOption) (list []sdk.ReadOnlySpan, err error) {
	for _, c := range charts {
		of, err := Resource(ctx, chartService, about(c)...)
		if err != nil {
			return nil, err
		}
		to := &life{chart: c}
		provider := sdk.NewTracerProvider(append([]sdk.TracerProviderOption{sdk.WithResource(of), sdk.WithIDGenerator(to), sdk.WithSyncer(to)}, options...)...)
		to.record(provider.Tracer(chartScope))
		list = append(list, to.ended...)
	}
	return list, nil
}

// life makes the spans of one chart: it says their IDs, and keeps them.
type life struct {
	chart *timeline.Chart
	next  trace.SpanID // the ID of the next span
	ended []sdk.ReadOnlySpan
}

// NewIDs are those of the pod's span, if it has no parent.
func (l *life) NewIDs(context.Context) (trace.TraceID, trace.SpanID) { return TraceOf(l.chart), l.next }

// NewSpanID is that of a span below another one.
func (l *life) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return l.next }

// ExportSpans keeps those that are to be sent.
func (l *life) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	l.ended = append(l.ended, spans...)
	return nil
}

// Shutdown is nothing here.
func (l *life) Shutdown(context.Context) error { return nil }

// TraceOf is the ID of the trace that a pod's life is, or is part of: that of its annotation
// lifepod.dev/traceparent, else one made of its UID.
func TraceOf(c *timeline.Chart) trace.TraceID {
	if parent := parentOf(c); parent.IsValid() {
		return parent.TraceID()
	}
	sum := hash(key(c), "trace")
	return trace.TraceID(sum[:16])
}

// key is what IDs are made of: a pod's UID, or the name of a group and when its first attempt began.
func key(c *timeline.Chart) string {
	if c.Group != nil {
		return c.Title() + "\x00" + c.Begin.UTC().Format(time.RFC3339Nano)
	}
	return c.Pod.UID
}

func parentOf(c *timeline.Chart) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": c.Pod.TraceParent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

func about(c *timeline.Chart) []attribute.KeyValue {
	if c.Group != nil {
		return texts("k8s.namespace.name", c.Pod.Namespace, "lifepod.group", c.Pod.Name)
	}
	return texts("k8s.namespace.name", c.Pod.Namespace, "k8s.pod.name", c.Pod.Name, "k8s.pod.uid", c.Pod.UID, "k8s.node.name", c.Pod.Node)
}

func hash(uid, what string) [sha256.Size]byte { return sha256.Sum256([]byte(uid + "\x00" + what)) }

func (l *life) name(what string) {
	sum := hash(key(l.chart), what)
	l.next = trace.SpanID(sum[:8])
}

// texts are attributes: names and values in turn. One without a value is left out.
func texts(pairs ...string) (list []attribute.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if value := plain.Line(pairs[i+1]); value != "" {
			list = append(list, attribute.String(pairs[i], value))
		}
	}
	return list
}

// record makes the pod's span and those of its bars.
func (l *life) record(tracer trace.Tracer) {
	c := l.chart
	l.name("pod")
	name := "pod " + c.Title()
	if c.Group != nil {
		name = c.Title()
	}
	within, root := tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), parentOf(c)), plain.Line(name),
		trace.WithTimestamp(c.Begin), trace.WithAttributes(texts("lifepod.phase", c.Phase, "lifepod.goes_on", yes(!c.Gone))...))
	if c.Phase == "Failed" {
		root.SetStatus(codes.Error, c.Phase)
	}
	for _, r := range c.Rows {
		for _, m := range r.Marks {
			root.AddEvent(plain.Line(r.Name+" "+m.Name), trace.WithTimestamp(m.At), trace.WithAttributes(texts("lifepod.text", m.Text, "lifepod.rule", m.Rule)...))
		}
	}
	root.End(trace.WithTimestamp(c.End))
	for _, r := range c.Rows {
		for i := range r.Bars {
			b := &r.Bars[i]
			l.name(fmt.Sprintf("%s\x00%s\x00%d\x00%d", r.Kind, r.Name, b.ID, b.Begin.UnixNano()))
			bar(within, tracer, &r, b)
		}
	}
}

func bar(ctx context.Context, tracer trace.Tracer, r *timeline.Row, b *timeline.Bar) {
	attributes := texts(
		"lifepod.step", string(b.Step), "lifepod.row", r.Name, "k8s.container.name", r.Container, "container.image.name", b.Image,
		"lifepod.critical_path", yes(b.Critical), "lifepod.goes_on", yes(b.Open),
	)
	if b.Attempt > 0 {
		attributes = append(attributes, attribute.Int64("k8s.container.restart_count", int64(b.Attempt)))
	}
	if b.Bytes > 0 {
		attributes = append(attributes, attribute.Int64("lifepod.image.bytes", int64(b.Bytes))) //nolint:gosec // an image's size
	}
	if b.Exit != nil {
		attributes = append(attributes, attribute.Int64("process.exit.code", int64(b.Exit.Code)))
	}
	_, span := tracer.Start(ctx, plain.Line(b.Label), trace.WithTimestamp(b.Begin), trace.WithAttributes(attributes...))
	detail := b.Detail(sentence.English)
	for _, n := range b.Notes {
		span.AddEvent(plain.Line(n.Text), trace.WithTimestamp(b.End), trace.WithAttributes(texts("lifepod.rule", n.Rule)...))
	}
	if b.Failed() {
		span.SetStatus(codes.Error, detail[len(detail)-len(b.Notes)-1].Text)
	}
	span.End(trace.WithTimestamp(b.End))
}

func yes(so bool) string {
	if so {
		return "true"
	}
	return ""
}
