package agent

import (
	"sync"
	"time"
)

// mailbox is the queue in front of a worker. Posting never blocks, so that
// whoever knows something can go on; the number of items is bounded by the
// effects under way and the events of one pod.
type mailbox struct {
	mu    sync.Mutex
	items []any         // lifecycle.Fact, or *runtimeapi.ContainerStatus of one that exited
	ready chan struct{} // holds a value while there may be items

	oldest time.Time // when the oldest item came that nobody has taken; zero: there is none
	taken  time.Time // the same of those that were taken and are not handled yet
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (m *mailbox) post(item any) {
	m.mu.Lock()
	if len(m.items) == 0 {
		m.oldest = time.Now()
	}
	m.items = append(m.items, item)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	m.taken, m.oldest = m.oldest, time.Time{}
	return items
}

// handled says that nothing is left to do of what was taken.
func (m *mailbox) handled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken = time.Time{}
}

// behind is for how long the oldest item has waited to be handled; 0: there is none.
func (m *mailbox) behind() time.Duration {
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
