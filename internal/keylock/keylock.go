// Package keylock has a lock for each key.
package keylock

import (
	"context"
	"sync"
)

// Locks has one lock per key. The zero value is ready for use.
type Locks[K comparable] struct {
	mu    sync.Mutex
	taken map[K]chan struct{} // closed when the lock is free
}

// Take locks all keys, one after the other, until release is called. Whoever takes several keys takes them in
// the same order, or two may wait for each other. The error is ctx's.
func (t *Locks[K]) Take(ctx context.Context, things ...K) (release func(), err error) {
	for i, thing := range things {
		if err := t.await(ctx, thing); err != nil {
			t.end(things[:i])
			return nil, err
		}
	}
	return func() { t.end(things) }, nil
}

func (t *Locks[K]) await(ctx context.Context, thing K) error {
	for {
		t.mu.Lock()
		other, isTaken := t.taken[thing]
		if !isTaken {
			if t.taken == nil {
				t.taken = map[K]chan struct{}{}
			}
			t.taken[thing] = make(chan struct{})
		}
		t.mu.Unlock()
		if !isTaken {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-other:
		}
	}
}

func (t *Locks[K]) end(things []K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, thing := range things {
		close(t.taken[thing])
		delete(t.taken, thing)
	}
}
