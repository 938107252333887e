package spans

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lifepod/lifepod/node/tracing/otlptest"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/timelinetest"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A collector gets a span for the pod, below the one that its annotation names, and one for each bar
// below that.
func TestSend(t *testing.T) {
	collector := otlptest.New(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+collector.Endpoint)
	record := timelinetest.Web()
	record.Pod.TraceParent = parent
	web := timeline.Of(record, time.Time{})
	if err := Send(t.Context(), []*timeline.Chart{web}); err != nil {
		t.Fatal(err)
	}
	sent := collector.Spans()
	bars := 0
	for _, r := range web.Rows {
		bars += len(r.Bars)
	}
	if len(sent) != bars+1 {
		t.Fatalf("%d spans, want %d", len(sent), bars+1)
	}
	root, ids := sent[0], map[string]bool{}
	if root.Name != "pod default/web" || root.Parent != "b7ad6b7169203331" || root.Resource["k8s.pod.name"] != "web" || root.Error != "Failed" {
		t.Errorf("the pod's span is %+v", root)
	}
	for _, s := range sent {
		if s.Trace != "0af7651916cd43dd8448eb211c80319c" || s.ID != root.ID && s.Parent != root.ID || ids[s.ID] {
			t.Errorf("%s is %s in trace %s, below %s", s.Name, s.ID, s.Trace, s.Parent)
		}
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
		if s.Name == "main stopping" && s.Error != "exit code 143, Error" {
			t.Errorf("it failed by %q", s.Error)
		}
	}
}

// Without an annotation, or with one that says nothing, a trace is made of the pod's UID: always the same.
func TestTrace(t *testing.T) {
	for _, said := range []string{"", "00-nonsense", strings.Replace(parent, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1)} {
		c := timeline.Of(timelinetest.Web(), time.Time{})
		c.Pod.TraceParent = said
		first, second := Of([]*timeline.Chart{c}), Of([]*timeline.Chart{timeline.Of(timelinetest.Web(), time.Time{})})
		for i, s := range first[0].GetScopeSpans()[0].GetSpans() {
			other := second[0].GetScopeSpans()[0].GetSpans()[i]
			if !bytes.Equal(s.GetSpanId(), other.GetSpanId()) || !bytes.Equal(s.GetTraceId(), other.GetTraceId()) || len(s.GetTraceId()) != 16 {
				t.Errorf("%q: %s in %s", said, hex.EncodeToString(s.GetSpanId()), hex.EncodeToString(s.GetTraceId()))
			}
			if i == 0 && len(s.GetParentSpanId()) > 0 {
				t.Errorf("%q: the first span has a parent", said)
			}
		}
	}
}

// What pods say is plain text.
func TestPlain(t *testing.T) {
	for _, r := range Of([]*timeline.Chart{timeline.Of(timelinetest.Malicious())}) {
		text := protojson.Format(r)
		if strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }) || strings.Contains(text, `\u001b`) {
			t.Errorf("escapes in %s", text)
		}
	}
}
