package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"google.golang.org/grpc"
)

// moment is when containerd, or a shim of its, has done something.
type moment struct {
	What string // the topic of the event
	At   time.Time
}

// moments collects what one containerd and its shims have done.
type moments struct {
	stream eventsapi.Events_SubscribeClient

	mu   sync.Mutex
	list []moment
}

// listen begins to listen to containerd's events of pods.
func listen(ctx context.Context, conn grpc.ClientConnInterface) (*moments, error) {
	stream, err := eventsapi.NewEventsClient(conn).Subscribe(ctx, &eventsapi.SubscribeRequest{Filters: []string{"namespace==k8s.io"}})
	if err != nil {
		return nil, fmt.Errorf("listen to containerd's events: %w", err)
	}
	return &moments{stream: stream}, nil
}

// Run files what is heard until the stream ends.
func (m *moments) Run() {
	for {
		event, err := m.stream.Recv()
		if err != nil {
			return
		}
		m.mu.Lock()
		m.list = append(m.list, moment{event.GetTopic(), event.GetTimestamp().AsTime()})
		m.mu.Unlock()
	}
}

// Reset forgets what was heard.
func (m *moments) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = nil
}

// All are those since Reset, in the order of their times.
func (m *moments) All() []moment {
	time.Sleep(settle)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.list)
	slices.SortStableFunc(list, func(a, b moment) int { return a.At.Compare(b.At) })
	return list
}

// settle is for how long events may be under way.
const settle = 50 * time.Millisecond
