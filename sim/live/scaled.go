package live

import (
	"fmt"
	"math"
	"time"

	"github.com/lifepod/lifepod/worker"
)

// Fastest is the highest speed. At that one, durations reach their end, 292 years, after three months.
const Fastest = 1000

// CheckSpeed says what is wrong with a speed.
func CheckSpeed(speed float64) error {
	if speed > 0 && speed <= Fastest { // NaN is neither
		return nil
	}
	return fmt.Errorf("%v: want a number above 0, at most %d", speed, Fastest)
}

// Scaled goes a number of times as fast as real time, from its making on. What was before has happened at the speed
// of everybody.
type Scaled struct {
	speed float64
	start time.Time // the real one
	base  time.Time // what time it was then: a whole second, so that no whole second of this time is before it
}

// NewScaled begins one, whose speed CheckSpeed has found right.
func NewScaled(speed float64) *Scaled {
	now := time.Now()
	return &Scaled{speed: speed, start: now, base: now.Truncate(time.Second)}
}

// Now is what time it is.
func (s *Scaled) Now() time.Time { return s.base.Add(times(time.Since(s.start), s.speed)) }

func (s *Scaled) AfterFunc(d time.Duration, f func()) timer {
	return &scaledTimer{time.AfterFunc(s.wait(d), f), s}
}

// Busy does nothing: time goes on, whatever is left to do.
func (*Scaled) Busy(int) {}

// Real is now, if this time was within a second, else the beginning or the end of that second.
func (s *Scaled) Real(of time.Time) time.Time {
	if of.Before(s.base) {
		return of
	}
	since := of.Sub(s.base)
	least, most := times(since, 1/s.speed), times(since+time.Second, 1/s.speed)
	return s.start.Add(min(max(time.Since(s.start), least), most)).Round(0)
}

// Of is what time it is at a real one.
func (s *Scaled) Of(real time.Time) time.Time {
	since := real.Sub(s.start)
	if since < 0 {
		return earlier(real, s.base)
	}
	return s.base.Add(times(since, s.speed))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// inexact is more than floating point is wrong by: who is woken too early is not woken again.
const inexact = 2 * time.Microsecond

// wait is how long d really takes, rather too long than too short.
func (s *Scaled) wait(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return times(d+inexact, 1/s.speed) + 1
}

// times is d a number of times, or the longest duration.
func times(d time.Duration, factor float64) time.Duration {
	ns := float64(d) * factor
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

type timer = interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// scaledTimer is one that has its durations in the time of Scaled.
type scaledTimer struct {
	*time.Timer
	of *Scaled
}

// Reset sets the timer anew.
func (t *scaledTimer) Reset(d time.Duration) bool { return t.Timer.Reset(t.of.wait(d)) }

// VirtualTime is one that differs from the real one.
type VirtualTime interface {
	worker.Virtual
	// Real is when something really happens, or has happened, that has this time, maybe without what it has of a
	// second: times of the API are whole seconds. What was before the beginning has kept its time.
	Real(of time.Time) time.Time
	// Of is the time of something that really happens, or has happened, at this one.
	Of(real time.Time) time.Time
}

var _, _ VirtualTime = &Scaled{}, &Manual{}
