package main

import (
	"context"
	"sync"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bench/life"
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
	began := time.Now()
	l, err := life.Begin(ctx, s.node, s.events, bare.NewPod("steps"))
	if err != nil {
		return nil, nil, err
	}
	ready := time.Now()
	created = stepsOf(whole{Name: "until Ready", Began: began, Done: ready}, s.spans.Ended(), s.moment.All())
	s.spans.Reset()
	s.moment.Reset()
	began = time.Now()
	err = l.End(lifecycle.StopRequested{Because: "bench"})
	return created, stepsOf(whole{Name: "until gone", Began: began, Done: time.Now()}, s.spans.Ended(), s.moment.All()), err
}
