package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// traced has the spans of a story recorded.
func traced(s *story) *tracetest.SpanRecorder {
	recorder := tracetest.NewSpanRecorder()
	s.node.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	return recorder
}

// traces are the spans that have ended, in the order of their beginnings, one a line: spans
// of effects stand below that of their sync, with the container that they are about.
func traces(of *tracetest.SpanRecorder) (list []string) {
	ended := of.Ended()
	slices.SortStableFunc(ended, func(a, b sdktrace.ReadOnlySpan) int {
		return a.StartTime().Compare(b.StartTime())
	})
	for _, parent := range ended {
		if parent.Parent().IsValid() {
			continue
		}
		list = append(list, line(parent))
		var below []string
		for _, span := range ended {
			if span.Parent().SpanID() == parent.SpanContext().SpanID() {
				below = append(below, "  "+line(span))
			}
		}
		slices.Sort(below) // what begins at the same time does so in no order
		list = append(list, below...)
	}
	return list
}

// line is a span with what differs from pod to pod left out.
func line(span sdktrace.ReadOnlySpan) string {
	words := []string{span.Name()}
	for _, a := range span.Attributes() {
		if key := string(a.Key); key == "k8s.pod.update_type" || key == "lifepod.fact" || key == "k8s.container.name" || key == "container.image.name" {
			words = append(words, a.Value.AsString())
		}
	}
	if text := span.Status().Description; text != "" {
		words = append(words, fmt.Sprintf("%q", text))
	}
	return strings.Join(words, " ")
}

// The start of a pod is one trace with a span for each step (A-TRC-5), its end another one
// (A-TRC-6), and nothing is traced of a pod that only runs.
func TestTraces(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		recorder := traced(s)
		pod := s.running(podOf("web", v1.RestartPolicyAlways, "main"))
		time.Sleep(10 * time.Minute)
		want := []string{
			"syncPod create Accepted",
			"  CreateContainer main", "  CreateSandbox", "  EnsureCgroup", "  InspectImage main example.org/app:1", "  MountVolumes", "  StartContainer main",
		}
		assert.Deep(t, "spans of the start", want, traces(recorder))
		started := len(want)
		pod.ends(30)
		want = []string{
			"syncTerminatingPod sync StopRequested", "  StopContainer main", "  StopSandbox",
			"syncTerminatedPod sync SandboxStopped", "  RemoveCgroup", "  RemoveSandbox", "  UnmountVolumes",
		}
		assert.Deep(t, "spans of the end", want, traces(recorder)[started:])
		for _, span := range recorder.Ended() {
			of := attribute.NewSet(span.Attributes()...)
			for key, want := range map[attribute.Key]string{"k8s.pod.uid": "uid-web", "k8s.pod": "default/web", "k8s.pod.name": "web", "k8s.namespace.name": "default"} {
				if got, _ := of.Value(key); got.AsString() != want {
					t.Errorf("%s has %s %q, want %q", span.Name(), key, got.AsString(), want)
				}
			}
		}
	})
}

// A restart is a trace of its own, which says what it is because of; what fails says so
// in its span and in the pod's (A-TRC-5).
func TestTracesOfFailures(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		recorder := traced(s)
		s.Program("main", "exit=1 after=1s", "run")
		pod := s.run(podOf("web", v1.RestartPolicyAlways, "main"))
		pod.await("restarted", restarts(1))
		time.Sleep(time.Hour)
		want := []string{
			`syncPod create Accepted "injected fault"`,
			"  CreateContainer main", "  CreateSandbox", "  EnsureCgroup", "  InspectImage main example.org/app:1", "  MountVolumes", "  Observe",
			`  StartContainer main "injected fault"`,
			"syncPod sync Woke", "  Observe",
			"syncPod sync Woke", "  StartContainer main",
			"syncPod sync ContainerExited", "  CreateContainer main", "  InspectImage main example.org/app:1", "  StartContainer main",
		}
		assert.Deep(t, "spans", want, traces(recorder))
	}, "fail StartContainer web/main times=1")
}
