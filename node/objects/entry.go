package objects

import (
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// entry is one object that registered pods use. It is guarded by watches.mu.
type entry struct {
	objectName
	users map[types.UID]bool // the pods; true: a volume of it shows the object

	watch *objectWatch // nil: none is needed for now
	known bool         // the API server has said what is there
	now   object       // nil: none is there

	answered bool // somebody was told what is there, and is to hear of changes
	refused  bool // somebody got an error, and is to hear when it is over
	idle     *time.Timer
}

// keep begins the watch if there is none, and puts off the end of one that no
// volume needs.
func (w *watches) keep(e *entry) {
	if e.known && e.now != nil && e.kind.immutable(e.now) {
		return
	}
	if e.watch == nil {
		w.begin(e)
	}
	if e.shown() {
		return
	}
	if e.idle == nil {
		e.idle = time.AfterFunc(idleAfter, func() { w.endIdle(e) })
		return
	}
	e.idle.Reset(idleAfter)
}

// shown says whether some volume shows the object.
func (e *entry) shown() bool {
	for _, inVolume := range e.users {
		if inVolume {
			return true
		}
	}
	return false
}

// endIdle ends a watch of an object that is there and that nobody has asked for
// lately; whoever waits for a missing one still does.
func (w *watches) endIdle(e *entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.watch != nil && e.watch.synced && e.now != nil && !e.shown() {
		e.endWatch()
	}
}

func (e *entry) endWatch() {
	if e.watch != nil {
		e.watch.cancel()
		e.watch = nil
	}
}

// answer is what is known of the object. One that was there is given out, too,
// while the API server can't be asked; that one was not there says nothing then.
func (e *entry) answer() (object, error) {
	current := e.watch == nil || e.watch.synced
	switch {
	case e.known && e.now != nil:
		e.answered = true
		return e.now, nil
	case e.known && current:
		e.answered = true
		return nil, apierrors.NewNotFound(v1.Resource(e.kind.resource), e.name) // as Kubernetes does on a node: `configmap "x" not found`
	}
	e.refused = true
	if e.watch == nil {
		return nil, notSynced(e.objectName, nil)
	}
	return nil, notSynced(e.objectName, e.watch.err)
}

// set takes over what is there now. It says what has happened if the pods should
// hear of it.
func (e *entry) set(now object) (because lifecycle.Because) {
	tell := e.refused || e.answered && !e.same(now)
	if now != nil {
		now = e.kind.trim(now)
	}
	because = lifecycle.Because{Kind: e.change(now), Text: e.kind.name + " " + e.name}
	e.now, e.known, e.refused = now, true, false
	e.watch.heardFirst()
	if now != nil && e.kind.immutable(now) {
		e.endWatch()
	}
	if !tell {
		return lifecycle.Because{}
	}
	return because
}

// same says whether containers see no difference between what is there now and before.
func (e *entry) same(now object) bool {
	if now == nil || e.now == nil {
		return now == nil && e.now == nil && e.known
	}
	return e.kind.same(e.now, now)
}

// change is what has become of the object.
func (e *entry) change(now object) lifecycle.BecauseKind {
	switch {
	case now == nil && e.now == nil:
		return "is-not-there"
	case now == nil:
		return "was-deleted"
	case e.now == nil:
		return "is-there"
	}
	return lifecycle.BecauseChanged
}
