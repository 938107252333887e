package pods

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/pressure"
)

// Reclaimer measures what the node may run short of, and gives back what pods don't need
// (package node/space). What is measured comes as roster.NodeMeasured.
type Reclaimer interface {
	// Measure measures now, without blocking.
	Measure()
	// Usage is what pods use of what runs short; an error: nothing is known.
	Usage(ctx context.Context, signal pressure.Signal) (pressure.Usage, error)
	// Reclaim gives back what it can, and measures what the node has left then.
	Reclaim(ctx context.Context, what pressure.Reclaims) pressure.Observations
	// SetConditions takes the Node's conditions of pressure, without blocking.
	SetConditions(under []v1.NodeConditionType)
	// Event records an event about the Node, without blocking.
	Event(kind, reason, message string)
}

// reclaim carries out what gives the node back what it runs short of.
func (s *Shell) reclaim(ctx context.Context, effect roster.Effect) {
	switch e := effect.(type) {
	case roster.Measure:
		s.Reclaimer.Measure()
	case roster.SetConditions:
		s.Reclaimer.SetConditions(e.Conditions)
	case roster.NodeEvent:
		s.Reclaimer.Event(e.Type, e.Reason, e.Message)
	case roster.Evicted:
		s.Counts.Evicted(e.Signals, e.Seen)
	case roster.Preempted:
		s.Counts.Preempted(e.Missing)
	case roster.Reclaim:
		s.aside(e, func() { s.mail.Post(roster.Reclaimed{Seen: s.Reclaimer.Reclaim(ctx, e.Reclaims)}) })
	case roster.MeasurePods:
		s.aside(e, func() {
			used, err := s.Reclaimer.Usage(ctx, e.Signal)
			if err != nil && ctx.Err() == nil {
				s.Log.Warn("can't measure what pods use", "err", err)
			}
			s.mail.Post(roster.PodsMeasured{Used: used, Failed: err != nil})
		})
	default:
		s.holdUp(ctx, effect)
	}
}
