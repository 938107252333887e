package publish

import (
	"context"
	"slices"
)

// AwaitSent waits until the API server has all that was set before, as far as it has the
// pods, or until ctx ends.
func (w *Writer) AwaitSent(ctx context.Context) {
	w.mu.Lock()
	if w.isIdle() {
		w.mu.Unlock()
		return
	}
	idle := w.awaited.idle.wait()
	w.wake.Send() // what waits for what follows is due
	w.mu.Unlock()
	await(ctx, idle)
}

// AwaitDue is the same, but for what only tells of progress and waits for what follows (A-STAT-12).
func (w *Writer) AwaitDue(ctx context.Context) {
	w.mu.Lock()
	if w.onlyProgress() {
		w.mu.Unlock()
		return
	}
	due := w.awaited.due.wait()
	w.mu.Unlock()
	await(ctx, due)
}

func await(ctx context.Context, done <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-done:
	}
}

// awaited is what somebody waits for.
type awaited struct {
	idle gate // nothing is to be written
	due  gate // nothing is to be written but progress
}

// gate is closed until what somebody waits for is so.
type gate struct{ open chan struct{} } // nil: nobody waits

func (g *gate) wait() <-chan struct{} {
	if g.open == nil {
		g.open = make(chan struct{})
	}
	return g.open
}

func (g *gate) pass() {
	if g.open != nil {
		close(g.open)
		g.open = nil
	}
}

// isIdle says that nothing is to be written. Called with mu held.
func (w *Writer) isIdle() bool { return w.busy == 0 && len(w.work) == 0 }

// onlyProgress says that what is to be written waits for what follows. Called with mu held.
func (w *Writer) onlyProgress() bool {
	if w.busy > 0 {
		return false
	}
	return !slices.ContainsFunc(w.work, func(e *entry) bool { return len(e.queue) == 0 || e.queue[0].since.IsZero() })
}

// passIdle lets those go on that wait for nothing to be left. Called with mu held.
func (w *Writer) passIdle() {
	if w.awaited.due.open != nil && w.onlyProgress() {
		w.awaited.due.pass()
	}
	if w.isIdle() {
		w.awaited.idle.pass()
	}
}
