package podstatus

import (
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// Progress waits for what follows for as long as the window, and then for its turn: when many pods start at once,
// most are ready by then, and one status has told all.
const (
	defaultWindow = time.Second
	stepsRate     = 10 // a second, of all pods
	stepsBurst    = 10
)

// pace is when statuses are written that only tell of progress.
type pace struct {
	window time.Duration
	steps  *rate.Limiter
}

func newPace(window time.Duration) pace {
	if window == 0 {
		window = defaultWindow
	}
	return pace{window: window, steps: rate.NewLimiter(stepsRate, stepsBurst)}
}

// told is what the API server has been told of a pod, and who waits for it.
type told struct {
	sent   *v1.PodStatus // the last that was on its way; nil: none was to this object
	agreed string        // the resourceVersion that was found to say what is wanted
	after  []func()      // goOn calls it, once nothing waits to be written
}

// goOn calls what waits for statuses. What it calls must not block.
func (t *told) goOn() {
	for _, do := range t.after {
		do()
	}
	t.after = nil
}

// mayWait says whether an update says nothing that is not to be late. Called with mu held.
func (w *Writer) mayWait(e *entry, u *update) bool {
	base := w.base(e)
	if u.seen != nil || base == nil {
		return false
	}
	before := e.told.sent
	if before == nil {
		before = &base.Status
	}
	return lifecycle.OnlyProgress(before, u.status, base.DeletionTimestamp != nil)
}

// dueAt is when an entry may be written, and whether that is its turn among those that waited for what
// follows. Called with mu held.
func (w *Writer) dueAt(e *entry, now time.Time) time.Time {
	if w.idle != nil { // somebody waits for everything to be written
		e.hurry()
	}
	at := w.reach.notBefore(e.due())
	if at.After(now) || !e.isStep() || w.pace.steps.AllowN(now, 1) {
		return at
	}
	return now.Add(time.Second / stepsRate)
}

// AfterStatuses calls do once the API server has the statuses of a pod that were set before, or has refused
// them or does not answer: an event does not come before the status that it explains. With now they wait for
// nothing that follows. do must not block, nor call the Writer.
func (w *Writer) AfterStatuses(pod types.UID, now bool, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entries[pod]
	if e == nil || w.ended || len(e.queue) == 0 || e.failures.class != none || w.base(e) == nil {
		do()
		return
	}
	e.told.after = append(e.told.after, do)
	if now {
		e.hurry()
		w.list(e)
	}
}
