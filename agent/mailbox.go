package agent

import "sync"

// mailbox is the queue in front of a worker. Posting never blocks, so that
// whoever knows something can go on; the number of items is bounded by the
// effects under way and the events of one pod.
type mailbox struct {
	mu    sync.Mutex
	items []any         // lifecycle.Fact, or *runtimeapi.ContainerStatus of one that exited
	ready chan struct{} // holds a value while there may be items
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (m *mailbox) post(item any) {
	m.mu.Lock()
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
	return items
}
