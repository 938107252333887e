// Package mailbox is what others leave for a goroutine that owns some state: a queue, in front of a pod's
// worker or the roster of a node, or just a Signal.
package mailbox

import (
	"sync"
	"time"
)

// Mailbox is a queue without a limit. Posting never blocks, so that whoever knows
// something can go on; how much there can be its users have to know. Use New.
type Mailbox[T any] struct {
	ready Signal                   // sent while there may be items
	count func(change int)         // see Count; nil: nobody counts
	order func(item T, add func()) // see Ordered; nil: items are added at once

	mu     sync.Mutex
	items  []T
	open   int       // items that count was told of and that are not handled; those that were taken are among them
	closed bool      // count is told nothing more
	oldest time.Time // when the oldest item came that nobody has taken; zero: there is none
	taken  time.Time // the same of those that were taken and are not handled yet
}

// New is an empty mailbox.
func New[T any]() *Mailbox[T] { return &Mailbox[T]{ready: NewSignal()} }

// Count calls by with how many more items are not handled, or fewer if that is negative. by must not call the
// Mailbox. Call it before the first Post.
func (m *Mailbox[T]) Count(by func(change int)) { m.count = by }

// Ordered has items added by order, which calls add at once, or later in the order of the posts. Call it before the first Post.
func (m *Mailbox[T]) Ordered(order func(item T, add func())) { m.order = order }

// Close has nobody count items any more: nothing will handle those that are left, and those that come.
func (m *Mailbox[T]) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts(-m.open)
	m.closed = true
}

// counts tells who counts. Called with mu held.
func (m *Mailbox[T]) counts(change int) {
	if m.count == nil || m.closed || change == 0 {
		return
	}
	m.open += change
	m.count(change)
}

// Post adds an item.
func (m *Mailbox[T]) Post(item T) {
	if m.order != nil {
		m.order(item, func() { m.add(item) })
		return
	}
	m.add(item)
}

func (m *Mailbox[T]) add(item T) {
	m.mu.Lock()
	if len(m.items) == 0 {
		m.oldest = time.Now()
	}
	m.items = append(m.items, item)
	m.counts(1)
	m.mu.Unlock()
	m.ready.Send()
}

// Ready gives a value when there is something to take.
func (m *Mailbox[T]) Ready() <-chan struct{} { return m.ready }

// Take gives out all items in the order in which they came. Call Handled when nothing
// is left to do of them.
func (m *Mailbox[T]) Take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	m.taken, m.oldest = m.oldest, time.Time{}
	return items
}

// Handled says that nothing is left to do of what was taken.
func (m *Mailbox[T]) Handled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken = time.Time{}
	m.counts(len(m.items) - m.open)
}

// Behind is how long the oldest item has waited to be handled; 0: there is none.
// It never waits itself.
func (m *Mailbox[T]) Behind() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest := m.taken
	if oldest.IsZero() {
		oldest = m.oldest
	}
	if oldest.IsZero() {
		return 0
	}
	return time.Since(oldest)
}

// Signal tells a goroutine that there is something to do, which is kept elsewhere: those that are sent before
// it receives one are one. Use NewSignal.
type Signal chan struct{}

// NewSignal is a signal that nobody has sent.
func NewSignal() Signal { return make(Signal, 1) }

// Send never blocks.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
