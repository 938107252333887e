package crifake

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Types of events, in the words of faults.
const (
	created = "CREATED"
	started = "STARTED"
	stopped = "STOPPED"
	deleted = "DELETED"
)

var eventTypes = map[string]runtimeapi.ContainerEventType{
	created: runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT,
	started: runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT,
	stopped: runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT,
	deleted: runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT,
}

// registration is how long a stream is open before it gets events: those before are lost.
const registration = 2 * time.Millisecond

// stream is one subscriber of events.
type stream struct {
	grpc.ServerStreamingClient[runtimeapi.ContainerEventResponse] // nil, only Recv is used

	ctx    context.Context
	events chan *runtimeapi.ContainerEventResponse
	ended  chan struct{}
	err    error // set before ended is closed
}

// GetContainerEvents opens a stream of events. As with gRPC, what is wrong with
// it is told by Recv.
func (r *Runtime) GetContainerEvents(ctx context.Context, _ *runtimeapi.GetEventsRequest, _ ...callOption) (grpc.ServerStreamingClient[runtimeapi.ContainerEventResponse], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &stream{ctx: ctx, events: make(chan *runtimeapi.ContainerEventResponse, 10000), ended: make(chan struct{})}
	if r.play == nil {
		r.calls = append(r.calls, Call{At: time.Now(), RPC: "GetContainerEvents"})
	}
	f := r.faultOf("GetContainerEvents", "")
	switch {
	case r.isDown():
		s.end(errRefused)
	case f.is(fail):
		s.end(f.err)
	case f.is(hang):
	default:
		r.later(registration, func() { r.streams[s] = true })
	}
	return s, nil
}

// BreakStreams ends all streams of events.
func (r *Runtime) BreakStreams() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endStreams(io.EOF)
}

func (r *Runtime) endStreams(err error) {
	for s := range r.streams {
		s.end(err)
	}
	clear(r.streams)
}

func (s *stream) end(err error) {
	s.err = err
	close(s.ended)
}

// Recv is the next event.
func (s *stream) Recv() (*runtimeapi.ContainerEventResponse, error) {
	select {
	case event := <-s.events:
		return event, nil
	default:
	}
	select {
	case event := <-s.events:
		return event, nil
	case <-s.ended:
		return nil, s.err
	case <-s.ctx.Done():
		return nil, status.FromContextError(s.ctx.Err()).Err()
	}
}

// emit sends an event of a container, or of the sandbox if c is nil; needs mu.
func (r *Runtime) emit(s *sandbox, c *container, kind string) {
	r.changed.Send()
	subject, id := s.subject(), s.id
	if c != nil {
		subject, id = c.subject(), c.id
	}
	event := &runtimeapi.ContainerEventResponse{
		ContainerId: id, ContainerEventType: eventTypes[kind], CreatedAt: time.Now().UnixNano(),
		PodSandboxStatus: s.status(),
	}
	for _, other := range s.containers {
		event.ContainersStatuses = append(event.ContainersStatuses, other.status())
	}
	f := r.faultOf(kind, subject.text)
	switch {
	case f.is(lose):
	case f.is(drop):
		r.endStreams(io.EOF)
	case f.is(delay):
		r.later(f.by, func() { r.send(event) })
	case f.is(double):
		r.send(event)
		r.send(event)
	default:
		r.send(event)
	}
}

func (r *Runtime) send(event *runtimeapi.ContainerEventResponse) {
	if r.isDown() {
		return
	}
	for s := range r.streams {
		select {
		case s.events <- event:
			continue
		case <-s.ctx.Done():
		default: // it does not keep up, and looks for itself what it has missed
			s.end(status.Error(codes.ResourceExhausted, "events are not received fast enough"))
		}
		delete(r.streams, s)
	}
}
