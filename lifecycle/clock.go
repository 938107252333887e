package lifecycle

import (
	"time"
)

// A machine has its own clock, which runs evenly: back-offs, deadlines, probes and
// retries come neither early nor late when somebody sets the wall clock. It is the wall
// clock minus all its changes since the pod began (ClockChanged). Times that others read
// or supply are on the wall clock: those of the status, of Events, of the runtime and of
// the API.

// ClockChanged says that somebody has set the wall clock forward by By, or back if By is
// negative. The times of this event and of all later ones are on the new clock; without a
// ClockChanged between two events, time never goes back. Setting the clock makes nothing
// come late or early.
type ClockChanged struct{ By time.Duration }

// hearOfClock files a change of the wall clock, before the time of the step is
// calculated. It says whether there was one.
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

// own converts a wall-clock time to the machine's own clock.
func (m *Machine) own(wall time.Time) time.Time {
	if wall.IsZero() {
		return wall
	}
	return wall.Add(-m.kept.Drift)
}

// onWall converts a time on the machine's own clock to the wall clock.
func (m *Machine) onWall(own time.Time) time.Time {
	if own.IsZero() {
		return own
	}
	return own.Add(m.kept.Drift)
}

// begins files the start of an instance, for the status and for its probes.
func (c *container) begins(s *step, wall time.Time) {
	c.StartedAt, c.Since = wall, s.own(wall)
}

// notAhead moves ends and attempts that lie in the future to now: after a reboot the
// machine's clock may be behind.
func (s *step) notAhead() {
	for _, c := range s.containers {
		c.EndedAt = earlier(c.EndedAt, s.now)
		c.BackOff.From, c.RestartAllBackOff.From = earlier(c.BackOff.From, s.now), earlier(c.RestartAllBackOff.From, s.now)
	}
	for name, b := range s.kept.ImageBack {
		s.kept.ImageBack[name] = BackoffPlace{Delay: b.Delay, From: earlier(b.From, s.now)}
	}
}
