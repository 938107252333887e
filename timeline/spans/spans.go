package spans

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	commonapi "go.opentelemetry.io/proto/otlp/common/v1"
	resourceapi "go.opentelemetry.io/proto/otlp/resource/v1"
	traceapi "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/lifepod/lifepod/timeline"
)

// scope names the spans.
const scope = "github.com/lifepod/lifepod/timeline"

// Of are the spans of charts, a resource for each pod. A bar that goes on ends with its chart.
func Of(charts []*timeline.Chart) (list []*traceapi.ResourceSpans) {
	for _, c := range charts {
		list = append(list, &traceapi.ResourceSpans{
			Resource: &resourceapi.Resource{Attributes: resource(c)},
			ScopeSpans: []*traceapi.ScopeSpans{{
				Scope: &commonapi.InstrumentationScope{Name: scope},
				Spans: spansOf(c),
			}},
		})
	}
	return list
}

// Trace is the ID of the trace that a pod's life is, or is part of: that of its annotation
// lifepod.dev/traceparent, else one made of its UID.
func Trace(c *timeline.Chart) trace.TraceID {
	if parent := parentOf(c); parent.IsValid() {
		return parent.TraceID()
	}
	sum := hash(c.Pod.UID, "trace")
	return trace.TraceID(sum[:16])
}

func parentOf(c *timeline.Chart) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": c.Pod.TraceParent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

func hash(uid, what string) [sha256.Size]byte { return sha256.Sum256([]byte(uid + "\x00" + what)) }

func spanID(c *timeline.Chart, what string) []byte {
	sum := hash(c.Pod.UID, what)
	return sum[:8]
}

// resource is whose spans they are, by the names of OpenTelemetry's conventions.
func resource(c *timeline.Chart) []*commonapi.KeyValue {
	return texts(
		"service.name", "lifepod", "k8s.namespace.name", c.Pod.Namespace, "k8s.pod.name", c.Pod.Name, "k8s.pod.uid", c.Pod.UID, "k8s.node.name", c.Pod.Node,
	)
}

// texts are attributes: names and values in turn. One without a value is left out.
func texts(pairs ...string) (list []*commonapi.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if value := timeline.Line(pairs[i+1]); value != "" {
			list = append(list, &commonapi.KeyValue{
				Key: pairs[i], Value: &commonapi.AnyValue{Value: &commonapi.AnyValue_StringValue{StringValue: value}},
			})
		}
	}
	return list
}

// spansOf are the pod's span and those of its bars.
func spansOf(c *timeline.Chart) []*traceapi.Span {
	id := Trace(c)
	root := &traceapi.Span{
		TraceId: id[:], SpanId: spanID(c, "pod"), Name: timeline.Line("pod " + c.Pod.FullName()), Kind: traceapi.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanoseconds(c.Begin), EndTimeUnixNano: nanoseconds(c.End),
		Attributes: texts("lifepod.phase", c.Phase, "lifepod.goes_on", yes(!c.Gone)),
	}
	if parent := parentOf(c); parent.IsValid() {
		span := parent.SpanID()
		root.ParentSpanId = span[:]
	}
	if c.Phase == "Failed" {
		root.Status = &traceapi.Status{Code: traceapi.Status_STATUS_CODE_ERROR, Message: c.Phase}
	}
	list := []*traceapi.Span{root}
	for _, r := range c.Rows {
		for i := range r.Bars {
			b := &r.Bars[i]
			span := bar(&r, b)
			span.TraceId, span.ParentSpanId = id[:], root.GetSpanId()
			span.SpanId = spanID(c, fmt.Sprintf("%s\x00%s\x00%d\x00%d", r.Kind, r.Name, b.ID, b.Begin.UnixNano()))
			list = append(list, span)
		}
		for _, m := range r.Marks {
			root.Events = append(root.Events, &traceapi.Span_Event{
				TimeUnixNano: nanoseconds(m.At), Name: timeline.Line(r.Name + " " + m.Name), Attributes: texts("lifepod.text", m.Text, "lifepod.rule", m.Rule),
			})
		}
	}
	return list
}

// bar is the span of a bar, as yet without IDs.
func bar(r *timeline.Row, b *timeline.Bar) *traceapi.Span {
	span := &traceapi.Span{
		Name: timeline.Line(b.Label), Kind: traceapi.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: nanoseconds(b.Begin), EndTimeUnixNano: nanoseconds(b.End),
		Attributes: texts(
			"lifepod.step", string(b.Step), "lifepod.row", r.Name, "k8s.container.name", r.Container, "container.image.name", b.Image,
			"lifepod.critical_path", yes(b.Critical), "lifepod.goes_on", yes(b.Open),
		),
	}
	if b.Attempt > 0 {
		span.Attributes = append(span.Attributes, number("k8s.container.restart_count", int64(b.Attempt)))
	}
	if b.Bytes > 0 {
		span.Attributes = append(span.Attributes, number("lifepod.image.bytes", int64(b.Bytes))) //nolint:gosec // an image's size
	}
	if b.Exit != nil {
		span.Attributes = append(span.Attributes, number("process.exit.code", int64(b.Exit.Code)))
	}
	detail := b.Detail()
	for _, n := range b.Notes {
		span.Events = append(span.Events, &traceapi.Span_Event{
			TimeUnixNano: nanoseconds(b.End), Name: timeline.Line(n.Text), Attributes: texts("lifepod.rule", n.Rule),
		})
	}
	if b.Failed() {
		span.Status = &traceapi.Status{Code: traceapi.Status_STATUS_CODE_ERROR, Message: detail[len(detail)-len(b.Notes)-1].Text}
	}
	return span
}

func number(name string, value int64) *commonapi.KeyValue {
	return &commonapi.KeyValue{Key: name, Value: &commonapi.AnyValue{Value: &commonapi.AnyValue_IntValue{IntValue: value}}}
}

func yes(so bool) string {
	if so {
		return "true"
	}
	return ""
}

func nanoseconds(at time.Time) uint64 {
	return uint64(max(at.UnixNano(), 0)) //nolint:gosec // not negative
}
