// Package moments says when a containerd, and its shims, have done something.
package moments

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"google.golang.org/grpc"
)

// Moment is when containerd, or a shim of its, has done something.
type Moment struct {
	What string // the topic of the event
	At   time.Time
}

// Moments collects what one containerd and its shims have done.
type Moments struct {
	stream eventsapi.Events_SubscribeClient

	mu   sync.Mutex
	list []Moment
}

// Listen begins to listen to containerd's events of pods.
func Listen(ctx context.Context, conn grpc.ClientConnInterface) (*Moments, error) {
	stream, err := eventsapi.NewEventsClient(conn).Subscribe(ctx, &eventsapi.SubscribeRequest{Filters: []string{"namespace==k8s.io"}})
	if err != nil {
		return nil, fmt.Errorf("listen to containerd's events: %w", err)
	}
	return &Moments{stream: stream}, nil
}

// Run files what is heard until the stream ends.
func (m *Moments) Run() {
	for {
		event, err := m.stream.Recv()
		if err != nil {
			return
		}
		m.mu.Lock()
		m.list = append(m.list, Moment{event.GetTopic(), event.GetTimestamp().AsTime()})
		m.mu.Unlock()
	}
}

// Reset forgets what was heard.
func (m *Moments) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = nil
}

// All are those since Reset, in the order of their times.
func (m *Moments) All() []Moment {
	time.Sleep(settle)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Clone(m.list)
	slices.SortStableFunc(list, func(a, b Moment) int { return a.At.Compare(b.At) })
	return list
}

// settle is for how long events may be under way.
const settle = 50 * time.Millisecond
