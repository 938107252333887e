package run

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/pods/counts"
	"github.com/lifepod/lifepod/telemetry"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/worker"
)

// lastTelemetry is how long a pod that is gone may wait for a collector to take its trace and its last figures.
const lastTelemetry = 2 * time.Second

// sent is what is sent of the pod because the environment asks for it (package telemetry). Of nil nothing is.
type sent struct {
	printer *printer
	root    string
	pod     *v1.Pod
	resumed bool               // the pod was another lifepod's before
	traces  *telemetry.Traces  // nil: none
	metrics *telemetry.Metrics // nil: none
	counts  *counts.Counts
	usage   *counts.Usage
	before  v1.PodStatus // the last status; the worker's goroutine owns it
}

// openTelemetry begins to send what the environment asks for, of a pod whose life is to begin on a node; nil if
// that is nothing.
func (r *runOf) openTelemetry(ctx context.Context, node *worker.Engine, pod *v1.Pod) (*sent, error) {
	s := &sent{printer: r.printer, root: r.runtime.Root, pod: pod, resumed: r.left != nil}
	telemetry.OnFailure(func(err error) { r.printer.warn("what becomes of the pod can't be sent: %v", err) })
	var err error
	if s.traces, err = telemetry.OpenTraces(ctx); err != nil {
		return nil, err
	}
	if telemetry.MetricsAsked() {
		err = s.openMetrics(ctx, node)
	}
	if s.traces == nil && s.metrics == nil {
		return nil, err
	}
	return s, err
}

func (s *sent) openMetrics(ctx context.Context, node *worker.Engine) error {
	of, err := telemetry.Resource(ctx, "lifepod",
		attribute.String("k8s.namespace.name", s.pod.Namespace), attribute.String("k8s.pod.name", s.pod.Name), attribute.String("k8s.pod.uid", string(s.pod.UID)),
		attribute.String("k8s.node.name", s.pod.Spec.NodeName))
	if err != nil {
		return err
	}
	s.counts, s.usage = counts.New(), counts.NewUsage(s.pod, node.Cgroups.Used)
	node.Watch, node.JournalWrote = s.counts, s.counts.Journal
	all := prometheus.NewRegistry()
	all.MustRegister(s.counts.Collectors()...)
	all.MustRegister(s.usage, counts.Census(func() []*v1.PodStatus {
		status := s.printer.status()
		return []*v1.PodStatus{&status}
	}))
	s.metrics, err = telemetry.OpenMetrics(ctx, all, of)
	return err
}

func (s *sent) status(status v1.PodStatus) {
	if s == nil || s.metrics == nil {
		return
	}
	if s.before.Phase == "" && s.resumed { // what was before is not counted
		s.before = status
	}
	s.counts.Status(s.pod, &s.before, &status)
	s.before = status
	if slices.ContainsFunc(status.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Terminated != nil }) {
		s.usage.Measure() // before the pod's cgroup is gone
	}
}

// end sends the last figures, and the life of a pod that is gone as a trace.
func (s *sent) end(ctx context.Context, gone bool) {
	if s == nil {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lastTelemetry)
	defer done()
	var both sync.WaitGroup
	both.Go(func() {
		if err := s.metrics.Close(ctx); err != nil {
			s.printer.warn("the last figures of the pod are not sent: %v", err)
		}
	})
	if s.traces != nil {
		if gone {
			if err := s.sendTrace(ctx); err != nil {
				s.printer.warn("what became of the pod is not sent as a trace: %v", err)
			}
		}
		_ = s.traces.Close(ctx) // nothing is under way
	}
	both.Wait()
}

// sendTrace sends the pod's life as a trace. It is part of the trace that the pod's annotation names, else of
// that of the environment (TRACEPARENT).
func (s *sent) sendTrace(ctx context.Context) error {
	record, err := journal.Folder{Dir: rootfolder.Journal.In(s.root)}.Read(string(s.pod.UID))
	if err != nil {
		return err
	}
	record.Pod.TraceParent = cmp.Or(record.Pod.TraceParent, os.Getenv("TRACEPARENT"))
	list, err := telemetry.SpansOf(ctx, []*timeline.Chart{timeline.Of(record, time.Now())})
	if err != nil {
		return err
	}
	return s.traces.Send(ctx, list)
}
