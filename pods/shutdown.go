package pods

import (
	"context"
	"fmt"
	"time"

	"github.com/lifepod/lifepod/roster"
)

// Shutdowns hold the machine up when it shuts down (package node/shutdown).
type Shutdowns interface {
	// Announce says that pods are ended because of a shutdown, or that it was cancelled.
	Announce(cancelled bool)
	// Release lets the machine shut down; Take has the next shutdown wait again.
	Release()
	Take()
}

// holdUp does what the roster asks for at a shutdown of the machine.
func (s *Shell) holdUp(ctx context.Context, effect roster.Effect) {
	switch e := effect.(type) {
	case roster.AnnounceShutdown:
		s.Shutdowns.Announce(e.Cancelled)
	case roster.FlushStatuses:
		s.aside(e, func() { s.flushStatuses(ctx, e.Until) })
	case roster.ReleaseInhibitor:
		s.Shutdowns.Release()
	case roster.TakeInhibitor:
		s.Shutdowns.Take()
	default:
		panic(fmt.Sprintf("pods: no way to carry out %T", effect))
	}
}

// flushStatuses waits until the API server has the pods' statuses, but not beyond a time.
func (s *Shell) flushStatuses(ctx context.Context, until time.Time) {
	if s.Cluster.Statuses != nil {
		ctx, cancel := context.WithTimeout(ctx, until.Sub(s.now()))
		defer cancel()
		s.Cluster.Statuses.AwaitSent(ctx)
	}
	s.mail.Post(roster.StatusesFlushed{})
}
