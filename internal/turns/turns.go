// Package turns has what is done for one thing done one after the other.
package turns

import (
	"context"
	"sync"
)

// Turns are those of all things. The zero value is ready for use.
type Turns[K comparable] struct {
	mu    sync.Mutex
	taken map[K]chan struct{} // closed when the turn is over
}

// Take waits for the turn of all the things, one after the other: those who take several do it in
// the same order, so that nobody waits for somebody who waits for them. release ends it. The error
// is ctx's.
func (t *Turns[K]) Take(ctx context.Context, things ...K) (release func(), err error) {
	for i, thing := range things {
		if err := t.await(ctx, thing); err != nil {
			t.end(things[:i])
			return nil, err
		}
	}
	return func() { t.end(things) }, nil
}

func (t *Turns[K]) await(ctx context.Context, thing K) error {
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

func (t *Turns[K]) end(things []K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, thing := range things {
		close(t.taken[thing])
		delete(t.taken, thing)
	}
}
