package publish

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// Progress waits for what follows: a second, and a little longer for each other pod that starts, which makes all of
// them slower. Most of many pods are ready by then, and one status has reported all. It waits longer while the API server is slow:
// what makes it slow are many writes, such as those of a group of thousands that restarts as one.
const (
	window     = time.Second
	windowEach = window / 10
	windowTook = 3 // times as long as the last write took
	windowMost = 10 * time.Second
	// What is reported at the barrier of a group is overtaken when all members are there. A group of thousands takes longer for
	// that than anything else waits for (5,000 as long as forty writes), and a status of each meanwhile would make it take longer still.
	windowGroup     = 30 * time.Second
	windowGroupTook = 60
	windowGroupMost = 5 * time.Minute
	// The restart of a member whose node tells the others of it waits for its start: a group of thousands starts later if the API server is
	// told of the restarts meanwhile.
	windowRestart     = 3 * time.Second
	windowRestartTook = 10
	windowRestartMost = 10 * time.Second
)

// progressWindow is how long progress waits now. Called with mu held.
func (w *Writer) progressWindow() time.Duration {
	long := window + time.Duration(w.starting)*windowEach
	return min(max(long, windowTook*w.reach.took), windowMost)
}

// windows are how long updates wait for what follows now. Called with mu held.
func (w *Writer) windows() map[reason]time.Duration {
	return map[reason]time.Duration{
		forMore:  w.progressWindow(),
		forGroup: min(max(windowGroup, windowGroupTook*w.reach.took), windowGroupMost),
		forStart: min(max(windowRestart, windowRestartTook*w.reach.took), windowRestartMost),
	}
}

// want says what the status of an entry is to be; nil: nothing is wanted any more. Called with mu held.
func (w *Writer) want(e *entry, status *v1.PodStatus) {
	if starts(e.wanted) {
		w.starting--
	}
	if e.wanted = status; starts(status) {
		w.starting++
	}
}

func starts(status *v1.PodStatus) bool { return status != nil && status.Phase == v1.PodPending }

// sentStatus is what was sent of a pod to the API server, and who waits for it.
type sentStatus struct {
	last   *v1.PodStatus // the last that was on its way; nil: none was to this object
	agreed string        // the resourceVersion that was found to say what is wanted
	notes  notes
	after  []func() // goOn calls it, once nothing waits to be written
}

// goOn calls what waits for statuses. What it calls must not block.
func (t *sentStatus) goOn() {
	for _, do := range t.after {
		do()
	}
	t.after = nil
}

// restarts says whether an update is of a pod that restarts with its group, and waits until it has. Called with mu held.
func (w *Writer) restarts(e *entry, u *update) bool {
	base := w.base(e)
	return base != nil && base.DeletionTimestamp == nil && !lifecycle.Terminal(u.status.Phase) && lifecycle.RestartsWithGroup(base.Annotations, u.notes, u.status)
}

// mayWait says whether an update says nothing that is not to be late, and notes for what it then waits. Called with mu held.
func (w *Writer) mayWait(e *entry, u *update) bool {
	base := w.base(e)
	if u.seen != nil || base == nil {
		return false
	}
	before := e.before()
	if before == nil {
		before = &base.Status
	}
	if lifecycle.AwaitsGroup(before, u.status) {
		u.reason = forGroup
	}
	return lifecycle.OnlyProgress(before, u.status, base.DeletionTimestamp != nil)
}

// recheck has what waits written if the API has something else than was told: somebody else has changed it
// (A-STAT-4). What is due repairs that as well. Called with mu held.
func (w *Writer) recheck(e *entry) {
	if len(e.queue) > 0 && (e.queue[0].since.IsZero() || e.queue[0].reason == forStart) {
		return
	}
	base := w.base(e)
	if base != nil && e.wanted != nil && e.sent.last != nil && !lifecycle.OnlyProgress(&base.Status, e.wanted, base.DeletionTimestamp != nil) {
		e.hurry()
	}
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
	e.sent.after = append(e.sent.after, do)
	if now {
		e.hurry()
		w.list(e)
	}
}
