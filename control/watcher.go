package control

import (
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// errUnchanged says that there was nothing to change.
var errUnchanged = errors.New("nothing to change")

// watchAhead is how many changes may wait for a watcher that is slow to take them.
const watchAhead = 1000

// Change is one state of the pod; its Pod is shared and must not be changed.
type Change struct {
	Type watch.EventType
	Pod  *v1.Pod
}

// Watcher gets every state of one pod, in order, none left out.
type Watcher struct {
	ready mailbox.Signal // sent while there may be changes

	mu      sync.Mutex
	changes []Change
	lost    bool // it was too slow, and gets nothing any more
}

// Watch begins with the pod as it is, as ADDED; call Unwatch when done.
func (o *Object) Watch() *Watcher {
	w := &Watcher{ready: mailbox.NewSignal()}
	o.mu.Lock()
	defer o.mu.Unlock()
	w.put(Change{Type: watch.Added, Pod: o.pod})
	select {
	case <-o.gone:
		w.put(Change{Type: watch.Deleted, Pod: o.pod})
	default:
		o.watchers[w] = struct{}{}
	}
	return w
}

// Unwatch ends a watch.
func (o *Object) Unwatch(w *Watcher) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.watchers, w)
}

// Ready receives a value when there may be changes to take.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Take returns what has changed since; lost says that changes after these were
// dropped, because nobody took them.
func (w *Watcher) Take() (changes []Change, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes, w.changes = w.changes, nil
	return changes, w.lost
}

func (w *Watcher) put(c Change) bool {
	w.mu.Lock()
	w.lost = w.lost || len(w.changes) >= watchAhead
	if !w.lost {
		w.changes = append(w.changes, c)
	}
	kept := !w.lost
	w.mu.Unlock()
	w.ready.Send()
	return kept
}
