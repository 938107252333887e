package live

import (
	"container/heap"
	"context"
	"fmt"
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
	timers timers
	newest int           // of the last timer that was set
	busy   int           // how much is left to do
	quiet  chan struct{} // closed when nothing is; nil: nobody waits for that
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
		due := heap.Pop(&m.timers).(*manualTimer)
		*until, call = due.at, due.call
	}
	m.now = *until
	return call
}

func (m *Manual) AfterFunc(d time.Duration, f func()) timer {
	t := &manualTimer{of: m, call: f, place: notSet}
	t.Reset(d)
	return t
}

// manualTimer is a timer of Manual, whose mu guards it.
type manualTimer struct {
	of    *Manual
	call  func()
	at    time.Time
	order int
	place int // in the heap; notSet: not there
}

const notSet = -1

// Stop has the timer not come.
func (t *manualTimer) Stop() (was bool) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	return t.stop()
}

func (t *manualTimer) stop() (was bool) {
	if t.place == notSet {
		return false
	}
	heap.Remove(&t.of.timers, t.place)
	return true
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
	m.newest++
	t.at, t.order = m.now.Add(d), m.newest
	heap.Push(&m.timers, t)
	return was
}

// timers are a heap: the next one first.
type timers []*manualTimer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at.Before(t[j].at) || t[i].at.Equal(t[j].at) && t[i].order < t[j].order
}

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].place, t[j].place = i, j
}

// Push is heap's.
func (t *timers) Push(x any) {
	one := x.(*manualTimer)
	one.place = len(*t)
	*t = append(*t, one)
}

// Pop is heap's.
func (t *timers) Pop() any {
	last := len(*t) - 1
	one := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	one.place = notSet
	return one
}
