package podstatus

import "context"

// AwaitTold waits until the API server has all that was set before, as far as it has the
// pods, or until ctx ends.
func (w *Writer) AwaitTold(ctx context.Context) {
	w.mu.Lock()
	if w.isIdle() {
		w.mu.Unlock()
		return
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.poke() // what waits for what follows is due
	w.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-idle:
	}
}

// isIdle says that nothing is to be written. Called with mu held.
func (w *Writer) isIdle() bool { return w.busy == 0 && len(w.work) == 0 }

// tellIdle lets those go on that wait for nothing to be left. Called with mu held.
func (w *Writer) tellIdle() {
	if w.idle != nil && w.isIdle() {
		close(w.idle)
		w.idle = nil
	}
}
