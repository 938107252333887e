package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/telemetry/otlptest"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A collector gets a span for the pod, below the one that its annotation names, and one for each bar
// below that.
func TestSend(t *testing.T) {
	for _, protocol := range []string{"", "http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) { testSend(t, protocol) })
	}
}

func testSend(t *testing.T, protocol string) {
	collector := otlptest.New(t)
	endpoint := collector.URL
	if protocol == "grpc" {
		endpoint = "http://" + collector.Endpoint
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,k8s.pod.name=other")
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off") // which is for what nobody has asked for
	record := timelinetest.Web()
	record.Pod.TraceParent = parent
	web := timeline.Of(record, time.Time{})
	assert.Must(t, SendSpans(t.Context(), []*timeline.Chart{web}))
	sent := collector.Spans()
	bars := 0
	for _, r := range web.Rows {
		bars += len(r.Bars)
	}
	assert.Require(t, len(sent) == bars+1, "%d spans, want %d", len(sent), bars+1)
	root, ids := sent[0], map[string]bool{}
	if root.Name != "pod default/web" || root.Parent != "b7ad6b7169203331" || root.Resource["k8s.pod.name"] != "web" || root.Resource["service.name"] != "lifepod" ||
		root.Resource["deployment.environment"] != "test" || root.Error != "Failed" {
		t.Errorf("the pod's span is %+v", root)
	}
	for _, s := range sent {
		assert.True(t, s.Trace == "0af7651916cd43dd8448eb211c80319c" && (s.ID == root.ID || s.Parent == root.ID) && !ids[s.ID],
			"%s is %s in trace %s, below %s", s.Name, s.ID, s.Trace, s.Parent)
		ids[s.ID] = true
		if s.Name == "image pull of main" {
			want := map[string]string{
				"lifepod.step": "image pull", "lifepod.row": "image of main", "k8s.container.name": "main",
				"container.image.name": "registry.example/web:2", "lifepod.critical_path": "true",
			}
			if diff := cmp.Diff(want, s.Attributes); diff != "" || s.Took != 4206*time.Millisecond || !s.Began.Equal(timelinetest.At(4*time.Millisecond)) {
				t.Errorf("%v from %v (-want +got):\n%s", s.Took, s.Began, diff)
			}
		}
		assert.True(t, s.Name != "main stopping" || s.Error == "exit code 143, Error", "it failed by %q", s.Error)
	}
}

func of(t *testing.T, c *timeline.Chart) []sdk.ReadOnlySpan {
	t.Helper()
	list, err := SpansOf(t.Context(), []*timeline.Chart{c})
	assert.Require(t, err == nil && len(list) != 0, "%d spans: %v", len(list), err)
	return list
}

// Without an annotation, or with one that says nothing, a trace is made of the pod's UID: always the same.
func TestTrace(t *testing.T) {
	for _, said := range []string{"", "00-nonsense", strings.Replace(parent, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1)} {
		c := timeline.Of(timelinetest.Web(), time.Time{})
		c.Pod.TraceParent = said
		second := of(t, timeline.Of(timelinetest.Web(), time.Time{}))
		for i, s := range of(t, c) {
			if is, other := s.SpanContext(), second[i].SpanContext(); is.SpanID() != other.SpanID() || is.TraceID() != other.TraceID() || is.TraceID() != TraceOf(c) {
				t.Errorf("%q: %s in %s", said, is.SpanID(), is.TraceID())
			}
			assert.True(t, i != 0 || !s.Parent().IsValid(), "%q: the first span has a parent", said)
		}
	}
}

// Which traces are sent says the sampler, which follows the parent unless OTEL_TRACES_SAMPLER says otherwise.
func TestSampler(t *testing.T) {
	unsampled := strings.TrimSuffix(parent, "1") + "0"
	for _, tc := range []struct {
		sampler, parent string
		sent            bool
	}{{"", "", true}, {"", parent, true}, {"", unsampled, false}, {"always_off", "", false}, {"always_on", unsampled, true}, {"parentbased_always_off", parent, true}} {
		t.Setenv("OTEL_TRACES_SAMPLER", tc.sampler)
		c := timeline.Of(timelinetest.Web(), time.Time{})
		c.Pod.TraceParent = tc.parent
		list, err := SpansOf(t.Context(), []*timeline.Chart{c})
		assert.True(t, err == nil && len(list) > 0 == tc.sent, "%+v: %d spans, %v", tc, len(list), err)
	}
}

// What pods say is plain text.
func TestPlain(t *testing.T) {
	for _, s := range of(t, timeline.Of(timelinetest.Malicious())) {
		text := fmt.Sprintf("%s %v %v %v %v", s.Name(), s.Attributes(), s.Events(), s.Resource(), s.Status())
		assert.True(t, !strings.ContainsFunc(text, unicode.IsControl), "escapes in %q", text)
	}
}

// A group is a trace of its own, which is always the same, with a span for each bar.
func TestGroup(t *testing.T) {
	chart := func() *timeline.Chart {
		records, now := timelinetest.Train()
		return timeline.OfGroup(timeline.NameOf("default", "train"), records, now, 0, sentence.English)
	}
	bars := 0
	for _, r := range chart().Rows {
		bars += len(r.Bars)
	}
	list, again := of(t, chart()), of(t, chart())
	assert.True(t, len(list) == bars+1 && list[0].Name() == "group default/train" && !list[0].Parent().IsValid(),
		"%d spans of %d bars, the first is %s", len(list), bars, list[0].Name())
	ids := map[string]bool{}
	for i, s := range list {
		if id := s.SpanContext().SpanID(); id != again[i].SpanContext().SpanID() || ids[id.String()] || s.SpanContext().TraceID() != TraceOf(chart()) {
			t.Errorf("%s is %s in %s", s.Name(), id, s.SpanContext().TraceID())
		}
		ids[s.SpanContext().SpanID().String()] = true
	}
}
