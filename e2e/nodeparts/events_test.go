package nodeparts

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lifepod/lifepod/internal/must"
	"github.com/lifepod/lifepod/node/publish"
)

// TestEvents: events are found as the kubelet's are, repeated ones are counted
// (A-EVT-1), and kubectl describe shows them.
func TestEvents(t *testing.T) {
	n := joinAs(t, publish.WriterConfig{})
	pod := n.read(n.pod("web").Name)
	recorder := publish.NewRecorder(publish.RecorderConfig{Client: n.client, Log: slog.New(slog.NewTextHandler(n.log, nil)), Node: n.name, QPS: 50, Burst: 100})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { recorder.Run(ctx) })
	defer running.Wait()
	defer cancel()

	selector := fields.Set{"source": "kubelet", "involvedObject.uid": string(pod.UID), "involvedObject.fieldPath": "spec.containers{main}"}
	events, err := n.admin.CoreV1().Events("default").Watch(t.Context(), metav1.ListOptions{FieldSelector: selector.String()})
	must.Succeed(t, err)
	defer events.Stop()
	for range 3 {
		recorder.Record(publish.Event{Object: publish.PodReference(pod, "spec.containers{main}"), Type: "Normal", Reason: "Started", Message: "Container started", At: time.Now()})
	}
	awaitEvent(t, events, func(e *v1.Event) bool {
		return e.Reason == "Started" && e.Count == 3 && e.Source.Host == n.name && e.ReportingController == "kubelet"
	})
	gone := publish.PodReference(pod, "")
	gone.Namespace = "is-not-there"
	recorder.Record(publish.Event{Object: gone, Type: "Normal", Reason: "Killing", At: time.Now()})
	recorder.Record(publish.Event{Object: publish.PodReference(pod, "spec.containers{main}"), Type: "Normal", Reason: "Killing", Message: "Stopping container main", At: time.Now()})
	awaitEvent(t, events, func(e *v1.Event) bool { return e.Reason == "Killing" })
	if n.log.String() != "" {
		t.Errorf("log:\n%s", n.log)
	}
	out, err := plane.Kubectl(t.Context(), "", "describe", "pod", pod.Name)
	if err != nil || !strings.Contains(out, "Stopping container main") {
		t.Errorf("kubectl describe: %v\n%s", err, out)
	}
}

func awaitEvent(t *testing.T, events watch.Interface, wanted func(*v1.Event) bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case e := <-events.ResultChan():
			if event, ok := e.Object.(*v1.Event); ok && wanted(event) {
				return
			}
		case <-deadline:
			t.Fatal("the event does not come")
		}
	}
}
