package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker"
)

// side makes pods on one runtime.
type side struct {
	node   *worker.Engine
	events *worker.Events
	spans  *tracetest.SpanRecorder
	moment *moments
	// of each pod
	created, deleted [][]step

	stop    context.CancelFunc
	streams sync.WaitGroup
}

func newSide(ctx context.Context, c host.NodeConfig) (*side, error) {
	node, err := host.NewNode(c)
	if err != nil {
		return nil, err
	}
	s := &side{node: node, events: node.Events(nil), spans: tracetest.NewSpanRecorder()}
	node.Tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(s.spans)).Tracer("bench/steps")
	ctx, s.stop = context.WithCancel(ctx)
	if s.moment, err = listen(ctx, c.Runtime.Conn); err != nil {
		s.stop()
		return nil, err
	}
	s.streams.Go(func() { s.events.Run(ctx) })
	s.streams.Go(s.moment.Run)
	return s, nil
}

func (s *side) close() {
	s.stop()
	s.streams.Wait()
}

// live takes a pod through its life, and returns the steps until it was ready, and from the request to delete it until
// nothing was left of it.
func (s *side) live(ctx context.Context) (created, deleted []step, err error) {
	s.spans.Reset()
	s.moment.Reset()
	shown := &statuses{ready: make(chan time.Time, 1)}
	began := time.Now()
	pod := bare.NewPod("steps")
	w := s.node.NewWorker(pod, shown)
	w.Remember(worker.NewCheckpointFile(filepath.Join(filepath.Dir(s.node.Folders.Pods), string(pod.UID)+".checkpoint")))
	s.events.Add(w)
	defer s.events.Remove(w)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	var ready time.Time
	select {
	case ready = <-shown.ready:
	case err := <-ended:
		return nil, nil, errors.Join(errors.New("the pod has ended"), err)
	case <-time.After(time.Minute):
		return nil, nil, errors.New("the pod is not ready within a minute")
	}
	created = stepsOf(whole{Name: "until Ready", Began: began, Done: ready}, s.spans.Ended(), s.moment.All())
	s.spans.Reset()
	s.moment.Reset()
	began = time.Now()
	w.Stop(lifecycle.StopRequested{Because: "bench"})
	err = <-ended
	return created, stepsOf(whole{Name: "until gone", Began: began, Done: time.Now()}, s.spans.Ended(), s.moment.All()), err
}

// statuses is a sink that waits for the pod to be ready.
type statuses struct{ ready chan time.Time }

// Status tells once when it is.
func (s *statuses) Status(status v1.PodStatus, _ bool) {
	for _, c := range status.Conditions {
		if c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
			select {
			case s.ready <- time.Now():
			default:
			}
		}
	}
}

// Event is not looked at.
func (s *statuses) Event(time.Time, lifecycle.RecordEvent) {}

// Report is not looked at.
func (s *statuses) Report(time.Time, lifecycle.Report) {}

// Delete is of no interest.
func (s *statuses) Delete() {}

// Rests is nothing here: nobody waits for it.
func (s *statuses) Rests() {}
