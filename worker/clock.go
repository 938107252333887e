package worker

import (
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// clockTolerance is the least change of the wall clock that counts as one: smaller
// ones hurt nobody, and reading two clocks takes a moment.
const clockTolerance = time.Second

// clock reads the wall clock for a machine, and notices when somebody has set it.
type clock struct {
	even    func() time.Time // runs evenly, whatever is done to the wall clock
	wall    func() time.Time // nil: even tells its time, too
	machine lifecycle.Clock  // what a checkpoint says of the clock
	last    reading
}

// reading is what the wall clock and the monotonic one said at the same moment.
type reading struct{ wall, even time.Time }

func (n *Engine) newClock() clock {
	c := clock{even: n.Clock.Time().Now, wall: n.Clock.Now}
	if n.Clock.Machine != nil {
		c.machine = n.Clock.Machine()
	}
	return c
}

// now is the time by the wall clock, and by how much that was changed since the last
// call.
func (c *clock) now() (now time.Time, changed time.Duration) {
	read := reading{even: c.even()}
	if read.wall = read.even.Round(0); c.wall != nil {
		read.wall = c.wall().Round(0)
	}
	if !c.last.even.IsZero() {
		changed = read.wall.Sub(c.last.wall) - read.even.Sub(c.last.even)
	}
	c.last = read
	if changed.Abs() < clockTolerance {
		changed = 0
	}
	if changed != 0 && c.machine.Boot != "" {
		c.machine.Started = c.machine.Started.Add(changed)
	}
	return read.wall, changed
}

// until is how long it is to a time of the wall clock as it stood at the last call of
// now.
func (c *clock) until(at time.Time) time.Duration {
	return at.Sub(c.last.wall) - c.even().Sub(c.last.even)
}

// soon is about what now would be.
func (c *clock) soon() time.Time { return c.ofNow(c.even()) }

// ofNow is a time that was read from the wall clock in this process, as that stands now.
func (c *clock) ofNow(earlier time.Time) time.Time {
	return c.last.wall.Add(earlier.Sub(c.last.even))
}

// changedSince is by how much the wall clock was changed since a checkpoint was made,
// while no lifepod was there to notice. After a restart of the machine nobody knows.
func (c *clock) changedSince(checkpoint lifecycle.Clock) time.Duration {
	if checkpoint.Boot == "" || checkpoint.Boot != c.machine.Boot {
		return 0
	}
	changed := c.machine.Started.Sub(checkpoint.Started)
	if changed.Abs() < clockTolerance {
		return 0
	}
	return changed
}
