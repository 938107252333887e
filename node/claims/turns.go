package claims

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// turns has what is done for one claim done one after the other.
type turns struct {
	mu    sync.Mutex
	taken map[types.NamespacedName]chan struct{} // closed when the turn is over
}

// take waits for the turn of all the claims, in their order, so that nobody waits for
// somebody who waits for them; release ends it. The error is ctx's.
func (t *turns) take(ctx context.Context, claims []types.NamespacedName) (release func(), err error) {
	order := slices.Clone(claims)
	slices.SortFunc(order, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	order = slices.Compact(order)
	for i, claim := range order {
		if err := t.await(ctx, claim); err != nil {
			t.end(order[:i])
			return nil, err
		}
	}
	return func() { t.end(order) }, nil
}

func (t *turns) await(ctx context.Context, claim types.NamespacedName) error {
	for {
		t.mu.Lock()
		other, isTaken := t.taken[claim]
		if !isTaken {
			if t.taken == nil {
				t.taken = map[types.NamespacedName]chan struct{}{}
			}
			t.taken[claim] = make(chan struct{})
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

func (t *turns) end(claims []types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, claim := range claims {
		close(t.taken[claim])
		delete(t.taken, claim)
	}
}
