package run

import (
	"context"
	"fmt"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/telemetry"
	"github.com/lifepod/lifepod/timeline"
	"github.com/lifepod/lifepod/timeline/spans"
)

// lastTelemetry is how long a pod that is gone may wait for a collector to take what is told of it.
const lastTelemetry = 2 * time.Second

// sendTrace sends the life of a pod that is gone as a trace, if the environment asks for that. It is part of
// the trace that the pod's annotation names, else of that of the environment (TRACEPARENT).
func (r *runOf) sendTrace(ctx context.Context, pod *v1.Pod) {
	if r.traces == nil {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lastTelemetry)
	defer done()
	record, err := journal.Folder{Dir: rootfolder.Journal.In(r.runtime.Root)}.Read(string(pod.UID))
	if err == nil {
		if record.Pod.TraceParent == "" {
			record.Pod.TraceParent = os.Getenv("TRACEPARENT")
		}
		err = sendChart(ctx, r.traces, timeline.Of(record, time.Now()))
	}
	if err != nil {
		r.printer.warn(fmt.Sprintf("what became of the pod is not sent as a trace: %v", err))
	}
}

func sendChart(ctx context.Context, to *telemetry.Traces, chart *timeline.Chart) error {
	list, err := spans.Of(ctx, []*timeline.Chart{chart})
	if err == nil {
		err = to.Send(ctx, list)
	}
	return err
}
