package publish

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// update is one status on its way.
type update struct {
	status *v1.PodStatus
	notes  map[string]string // the annotations that go with it: those of a newer status would come too early
	since  time.Time         // it only tells of progress, and waits since then for what follows; zero: it is due
	reason reason            // why it waits
	seen   func(error)       // of a transition that waits to be seen
	late   *time.Timer       // tells it that it was not seen in time
}

// reason is for what an update waits.
type reason int

const (
	forMore  reason = iota // more progress
	forGroup               // the other members of its group
	forStart               // the start, with its group, after a restart
)

// entry is what a Writer keeps of one pod, guarded by its mu.
type entry struct {
	ref    Ref
	queue  []*update     // not written yet, oldest first
	wanted *v1.PodStatus // the newest, written or not; changed by Writer.want only
	sent   sentStatus
	kept   transitions // times that the API had first
	last   bool        // nothing is left of the pod: delete it when it is written
	over   bool        // nothing more will be written
	listed bool        // on the work list
	busy   bool        // an attempt is under way
	flight *update     // what it writes

	answer  *v1.Pod // the answer to the last write, until the watch shows it
	untaken []byte  // a patch that the API server answered without taking it over
	doubt   bool    // an answer was lost: ask what the API has before the next write

	failures    failures
	repairAfter time.Time // before it nothing is written that nobody has set anew
}

// push adds an update. It waits as long as those whose place it takes.
func (e *entry) push(u *update) {
	e.queue = append(e.queue, u)
	e.compact()
}

// compact drops what the newest update supersedes.
func (e *entry) compact() {
	if len(e.queue) == 0 {
		return
	}
	newest := e.queue[len(e.queue)-1]
	kept := e.queue[:0]
	for _, u := range e.queue {
		switch {
		case u == newest || e.keeps(u):
			kept = append(kept, u)
		case u.reason == forGroup && newest.reason != forGroup && !newest.since.IsZero(): // the group is complete: what follows comes soon
		default:
			newest.since = slices.MinFunc([]time.Time{newest.since, u.since}, time.Time.Compare)
		}
	}
	clear(e.queue[len(kept):])
	e.queue = kept
}

// keeps says whether an update is written although there is a newer one: somebody waits for it, or it is under way.
func (e *entry) keeps(u *update) bool { return u.seen != nil || u == e.flight }

// before is the last status that is written before the next one that is set; nil: none of those that are known is.
func (e *entry) before() *v1.PodStatus {
	for _, u := range slices.Backward(e.queue) {
		if e.keeps(u) {
			return u.status
		}
	}
	return e.sent.last
}

// due is when the next attempt may be made, if updates wait so long for what follows.
func (e *entry) due(windows map[reason]time.Duration) time.Time {
	switch {
	case len(e.queue) == 0:
		return later(e.failures.notBefore, e.repairAfter)
	case !e.queue[0].since.IsZero():
		return later(e.failures.notBefore, e.queue[0].since.Add(windows[e.queue[0].reason]))
	}
	return e.failures.notBefore
}

// hurry lets nothing wait for what follows.
func (e *entry) hurry() {
	for _, u := range e.queue {
		u.since = time.Time{}
	}
}

// drop gives up what is queued and returns those who wait for it.
func (e *entry) drop() (waiting []func(error)) {
	for _, u := range e.queue {
		if seen := u.settle(); seen != nil {
			waiting = append(waiting, seen)
		}
	}
	e.queue = nil
	return waiting
}

// settle takes the one who waits from the update.
func (u *update) settle() func(error) {
	seen := u.seen
	u.seen = nil
	if u.late != nil {
		u.late.Stop()
	}
	return seen
}

func tell(waiting []func(error), err error) {
	for _, seen := range waiting {
		seen(err)
	}
}
