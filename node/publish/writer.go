package publish

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// WriterConfig is what a Writer needs. Client must not limit the rate of requests by
// itself (QPS -1): 100 pods that start at once shall not queue.
type WriterConfig struct {
	Client kubernetes.Interface
	Log    *slog.Logger

	// InFlight bounds how many pods are written at the same time; 32 if zero.
	InFlight int
	// Slots has room for so many requests at the same time of all Writers that share it, as of many nodes in one process:
	// an API server that is asked more than it can answer answers too late, and is asked again. nil: there is no such bound.
	Slots chan struct{}
	// Timeout bounds one request; 10 s if zero.
	Timeout time.Duration
	// Patience is how long a transition may wait to be seen before its caller is
	// told ErrUnseen; 3 s if zero.
	Patience time.Duration
}

// Writer writes statuses of pods to the API server. Its methods may be called
// from any goroutine and never block.
type Writer struct {
	WriterConfig                // immutable
	wake         mailbox.Signal // sent when there may be something to begin

	mu       sync.Mutex
	entries  map[types.UID]*entry // by the UID that the node knows the pod by
	objects  objects
	work     []*entry // those with something to do and no attempt under way, in order
	busy     int      // attempts under way
	starting int      // entries whose pods start
	ended    bool     // nothing is written any more
	reach    reach
	awaited  awaited
}

// NewWriter prepares a Writer; statuses are written while Run runs.
func NewWriter(c WriterConfig) *Writer {
	c.InFlight = cmp.Or(c.InFlight, 32)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Patience = cmp.Or(c.Patience, 3*time.Second)
	return &Writer{WriterConfig: c, wake: mailbox.NewSignal(), entries: map[types.UID]*entry{}, objects: objects{}}
}

// Run writes until ctx ends and all attempts have, too. What waits then is lost
// with the Writer; the next one compares with what the API has.
func (w *Writer) Run(ctx context.Context) {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			w.letGo()
			return
		case <-w.wake:
		case <-timer.C:
		}
		due, next := w.due(time.Now())
		for _, e := range due {
			attempts.Go(func() { w.attempt(ctx, e) })
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// letGo calls what waits for statuses that are not written any more.
func (w *Writer) letGo() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, e := range w.entries {
		e.sent.goOn()
	}
}

// due takes what can be begun now off the work list; next is when something of
// the rest can be, zero if that takes a wake.
func (w *Writer) due(now time.Time) (due []*entry, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.awaited.idle.open != nil { // somebody waits for everything to be written
		for _, e := range w.work {
			e.hurry()
		}
	}
	later, windows := w.work[:0], w.windows()
	for _, e := range w.work {
		if w.busy >= w.InFlight || w.reach.testing {
			later = append(later, e) // the end of an attempt wakes
			continue
		}
		if at := w.reach.notBefore(e.due(windows)); at.After(now) {
			later = append(later, e)
			if next.IsZero() || at.Before(next) {
				next = at
			}
			continue
		}
		e.busy, e.listed = true, false
		w.busy++
		w.reach.testing = w.reach.away
		due = append(due, e)
	}
	clear(w.work[len(later):])
	w.work = later
	return due, next
}

// list puts an entry on the work list if it has something to do. Called with mu held.
func (w *Writer) list(e *entry) {
	if e.busy || !w.hasWork(e) {
		return
	}
	if !e.listed {
		e.listed = true
		w.work = append(w.work, e)
	}
	w.wake.Send() // it may be due earlier than it was
}

// hasWork says whether the API may have to be told something. Called with mu held.
func (w *Writer) hasWork(e *entry) bool {
	base := w.base(e)
	return base != nil && !e.over && e.wanted != nil &&
		(len(e.queue) > 0 || e.sent.agreed != base.ResourceVersion)
}

// base is the newest that is known of the pod's API object, nil if it is not
// there. Called with mu held.
func (w *Writer) base(e *entry) *v1.Pod {
	live := w.objects.of(e.ref)
	if live == nil {
		return nil
	}
	if e.answer != nil && e.answer.UID == live.UID && newer(e.answer, live) {
		return e.answer
	}
	e.answer = nil
	return live
}
