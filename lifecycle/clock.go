package lifecycle

import "time"

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
	before := m.drift
	switch f := f.(type) {
	case ClockChanged:
		m.drift += f.By
	case Resumed:
		m.drift += f.ClockChanged
	}
	return m.drift != before
}

// own is a time of the wall clock on the machine's own.
func (m *Machine) own(wall time.Time) time.Time {
	if wall.IsZero() {
		return wall
	}
	return wall.Add(-m.drift)
}

// onWall is a time of the machine's own clock on the wall clock.
func (m *Machine) onWall(own time.Time) time.Time {
	if own.IsZero() {
		return own
	}
	return own.Add(m.drift)
}

// begins files when an instance has started, for the status and for its probes.
func (c *container) begins(s *step, wall time.Time) {
	c.startedAt, c.since = wall, s.own(wall)
}

// notAhead puts ends and attempts that seem to be of the future at now: after a
// restart of the machine its clock may be behind.
func (s *step) notAhead() {
	for _, c := range s.containers {
		c.endedAt = earlier(c.endedAt, s.now)
		c.backOff.from, c.roundBackOff.from = earlier(c.backOff.from, s.now), earlier(c.roundBackOff.from, s.now)
	}
	for _, b := range s.imageBack {
		b.from = earlier(b.from, s.now)
	}
}
