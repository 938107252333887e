package cri

import (
	"context"
	"log/slog"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Stream is the runtime's container events, kept open for as long as its
// context lives. An open stream proves itself by its first event: what happened
// before the runtime had registered the subscription is lost without a trace.
type Stream struct {
	Runtime runtimeapi.RuntimeServiceClient
	Log     *slog.Logger
	// Event receives every event, in order, from one goroutine.
	Event func(*runtimeapi.ContainerEventResponse)
	// Proven is called when a stream gives its first event, Broken when it has
	// ended: from then on, until it is proven again, events may be missing.
	Proven, Broken func()
}

// Run receives events until ctx ends. A stream that breaks is opened again.
func (s *Stream) Run(ctx context.Context) {
	for delay := reconnectMin; ctx.Err() == nil; delay = min(2*delay, reconnectMax) {
		events, err := s.receive(ctx)
		if events > 0 {
			delay = reconnectMin
		}
		if ctx.Err() != nil {
			return
		}
		s.Broken()
		s.Log.Info("container event stream ended", "events", events, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
	}
}

func (s *Stream) receive(ctx context.Context) (events int, err error) {
	stream, err := s.Runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return 0, err
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return events, err
		}
		if events == 0 {
			s.Proven()
		}
		events++
		s.Event(event)
	}
}
