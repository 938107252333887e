package lifecycle

import (
	"time"

	"github.com/lifepod/lifepod/lifecycle/backoff"
)

// A machine has a clock of its own, which runs evenly: back-offs, deadlines, probes
// and retries must neither come too early nor too late because somebody sets the
// wall clock. It is the wall clock less all that it was changed by since the pod
// began (ClockChanged). Times that others read, or that come from others, are the
// wall clock's: those of the status and of events, the runtime's, the API's.

// ClockChanged says that somebody has set the wall clock: it is ahead by so much of
// what it would have been, or behind. The event's own time is that of the new clock,
// and so are the times of all that come later; between two of them no time goes back
// but by a ClockChanged. Setting a clock delays nothing, and nothing comes early.
type ClockChanged struct{ By time.Duration }

func (ClockChanged) isFact() {}

// hearOfClock files that the wall clock was changed, before a step's time is known. It
// says whether it was.
func (m *Machine) hearOfClock(f Fact) (changed bool) {
	before := m.kept.Drift
	switch f := f.(type) {
	case ClockChanged:
		m.kept.Drift += f.By
	case Resumed:
		m.kept.Drift += f.ClockChanged
	}
	return m.kept.Drift != before
}

// own is a time of the wall clock on the machine's own.
func (m *Machine) own(wall time.Time) time.Time {
	if wall.IsZero() {
		return wall
	}
	return wall.Add(-m.kept.Drift)
}

// onWall is a time of the machine's own clock on the wall clock.
func (m *Machine) onWall(own time.Time) time.Time {
	if own.IsZero() {
		return own
	}
	return own.Add(m.kept.Drift)
}

// begins files when an instance has started, for the status and for its probes.
func (c *container) begins(s *step, wall time.Time) {
	c.StartedAt, c.Since = wall, s.own(wall)
}

// notAhead puts ends and attempts that seem to be of the future at now: after a
// restart of the machine its clock may be behind.
func (s *step) notAhead() {
	for _, c := range s.containers {
		c.EndedAt = earlier(c.EndedAt, s.now)
		c.BackOff.From, c.RoundBackOff.From = earlier(c.BackOff.From, s.now), earlier(c.RoundBackOff.From, s.now)
	}
	for name, b := range s.kept.ImageBack {
		s.kept.ImageBack[name] = backoff.Place{Delay: b.Delay, From: earlier(b.From, s.now)}
	}
}
