package objects

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// watches are the objects that registered pods use.
type watches struct {
	ctx     context.Context
	options Options

	// guarded by mu
	mu      sync.Mutex
	entries map[objectName]*entry
	pods    map[types.UID]uses
}

// register makes what a pod uses what it is now; nothing forgets the pod.
func (w *watches) register(pod types.UID, now uses) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r, inVolume := range now {
		e := w.entries[r]
		if e == nil {
			e = &entry{objectName: r, users: map[types.UID]bool{}}
			w.entries[r] = e
		}
		e.users[pod] = inVolume
		w.keep(e)
	}
	for r := range w.pods[pod] {
		if _, still := now[r]; !still {
			w.release(w.entries[r], pod)
		}
	}
	if now == nil {
		delete(w.pods, pod)
		return
	}
	w.pods[pod] = now
}

// release takes a pod off an object that it uses no longer.
func (w *watches) release(e *entry, pod types.UID) {
	delete(e.users, pod)
	if len(e.users) > 0 {
		return
	}
	e.endWatch()
	if e.idle != nil {
		e.idle.Stop()
	}
	delete(w.entries, e.objectName)
}

// object is the object as it is known now. The first to ask after a watch began
// wait for it.
func (w *watches) object(r objectName) (object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[r]
	if e == nil {
		return nil, fmt.Errorf("object %q/%q not registered", r.namespace, r.name)
	}
	w.keep(e)
	if e.watch != nil && !e.watch.synced {
		awaited := e.watch
		w.mu.Unlock()
		awaited.await()
		w.mu.Lock()
	}
	return e.answer()
}

// set takes over what a watch has heard: the object, or nil if there is none.
func (w *watches) set(from *objectWatch, now object) {
	w.mu.Lock()
	if from.entry.watch != from {
		w.mu.Unlock()
		return // ended
	}
	because := from.entry.set(now)
	var concerned []types.UID
	if because != (lifecycle.Because{}) {
		for pod := range from.entry.users {
			concerned = append(concerned, pod)
		}
	}
	w.mu.Unlock()
	for _, pod := range concerned {
		w.options.Changed(pod, because)
	}
}

// failed keeps why nothing was heard yet.
func (w *watches) failed(from *objectWatch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from.err = err
}
