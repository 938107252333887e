package worker

import (
	"fmt"
	"runtime/debug"
)

// panicked is a panic of something that was done beside a worker.
type panicked struct {
	value any
	stack []byte
}

// String is what a panic of it says, with where it was.
func (p panicked) String() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }

// beside does what was asked for beside the worker, which waits for it at its end. If it
// panics, Run does: whoever runs several workers can keep that to the one.
func (w *Worker) beside(what any, do func()) {
	clock := w.executor.engine.Clock
	busy, wait := clock.Time().Busy, clock.Await(w.pod.UID, what)
	busy(1)
	w.calls.Go(func() {
		wait()
		defer busy(-1)
		defer func() {
			if r := recover(); r != nil {
				w.mail.Post(panicked{r, debug.Stack()})
			}
		}()
		do()
	})
}
