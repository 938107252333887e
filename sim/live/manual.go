package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Manual stands still, unless Advance moves it on. It begins with the real time. (The FakeClock of k8s.io/utils calls functions
// with its lock held, and not in the order of their times; none that is kept well knows when there is nothing left to do.)
type Manual struct {
	base      time.Time  // the real time at the beginning, a whole second
	advancing sync.Mutex // by one at a time

	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer // the next one first
	busy   int            // how much is left to do
	quiet  chan struct{}  // closed when nothing is; nil: nobody waits for that
}

func NewManual() *Manual {
	now := time.Now().Truncate(time.Second)
	return &Manual{base: now, now: now}
}

func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Real is now for all that was not before the beginning: what happens is reported at once.
func (m *Manual) Real(of time.Time) time.Time {
	if of.Before(m.base) {
		return of
	}
	return time.Now()
}

// Of is now for all that was not before the beginning.
func (m *Manual) Of(real time.Time) time.Time {
	if real.Before(m.base) {
		return real
	}
	return m.Now()
}

// Busy says how much more there is to do.
func (m *Manual) Busy(change int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy += change
	if m.busy == 0 && m.quiet != nil {
		close(m.quiet)
		m.quiet = nil
	}
}

// AwaitQuiet waits until there is nothing left to do, or until ctx ends.
func (m *Manual) AwaitQuiet(ctx context.Context) error {
	m.mu.Lock()
	if m.busy == 0 {
		m.mu.Unlock()
		return nil
	}
	if m.quiet == nil {
		m.quiet = make(chan struct{})
	}
	quiet := m.quiet
	m.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait until the pods have nothing left to do: %w", context.Cause(ctx))
	}
}

// Advance moves the time on by d, not at once: from one time to the next at which timers are due, and settle is called before
// and after all of a time were called, in the order in which they are due and were set. An error of settle ends it; the time stays where
// it then is.
func (m *Manual) Advance(d time.Duration, settle func() error) error {
	if d < 0 {
		return fmt.Errorf("advance by %v: time does not go back", d)
	}
	m.advancing.Lock()
	defer m.advancing.Unlock()
	for until := m.Now().Add(d); ; {
		if err := settle(); err != nil {
			return err
		}
		if !m.fire(until) {
			return nil
		}
	}
}

// fire moves the time on to that at which the next timers are due, and calls these; if none is by then, to that time.
func (m *Manual) fire(until time.Time) (fired bool) {
	m.Busy(1) // the settled time is left when all are called
	defer m.Busy(-1)
	for {
		call := m.next(&until)
		if call == nil {
			return fired
		}
		call()
		fired = true
	}
}

// next takes off the timer that is due next, if it is by then, and moves the time on to it: until becomes that time.
func (m *Manual) next(until *time.Time) (call func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.timers) > 0 && !m.timers[0].at.After(*until) {
		*until, call = m.timers[0].at, m.timers[0].call
		m.timers = slices.Delete(m.timers, 0, 1)
	}
	m.now = *until
	return call
}

func (m *Manual) AfterFunc(d time.Duration, f func()) timer {
	t := &manualTimer{of: m, call: f}
	t.Reset(d)
	return t
}

// manualTimer is a timer of Manual, whose mu guards it.
type manualTimer struct {
	of   *Manual
	call func()
	at   time.Time
}

// Stop has the timer not come.
func (t *manualTimer) Stop() (was bool) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return t.stop()
}

func (t *manualTimer) stop() (was bool) {
	before := len(t.of.timers)
	t.of.timers = slices.DeleteFunc(t.of.timers, func(other *manualTimer) bool { return other == t })
	return len(t.of.timers) < before
}

// Reset has the timer come after d, at once if that is not in the future.
func (t *manualTimer) Reset(d time.Duration) (was bool) {
	m := t.of
	m.mu.Lock()
	defer m.mu.Unlock()
	was = t.stop()
	if d <= 0 {
		m.busy++
		go func() {
			defer m.Busy(-1)
			t.call()
		}()
		return was
	}
	t.at = m.now.Add(d)
	place := slices.IndexFunc(m.timers, func(other *manualTimer) bool { return other.at.After(t.at) })
	if place < 0 {
		place = len(m.timers)
	}
	m.timers = slices.Insert(m.timers, place, t)
	return was
}
