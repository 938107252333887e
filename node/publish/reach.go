package publish

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// reach is whether the API server can be reached. While it is away, one request
// at a time tests it, at most two seconds after the last one; the first answer
// of any kind lets everything go again.
type reach struct {
	away    bool // it refuses connections: one request at a time tests it
	silent  bool // that, or requests time out
	testing bool // a request is under way that shows whether it is back
	testAt  time.Time
	pause   wait.Backoff
	heardAt time.Time     // the last sign of it
	backAt  time.Time     // the first after it had been silent
	took    time.Duration // how long the last write took that was answered
}

// failed notes a request, begun at a time, that got no answer. It says whether
// that concerns all pods, which it does unless there was a sign of life since,
// and whether it is the first of its kind.
func (r *reach) failed(class failure, began, now time.Time) (general, first bool) {
	if r.heardAt.After(began) {
		return began.Before(r.backAt), false
	}
	first, r.silent = !r.silent, true
	if class == unreachable {
		if !r.away {
			r.away, r.pause = true, newBackoff()
		}
		r.testAt = now.Add(r.pause.Step())
	}
	return true, first
}

// heard notes a sign of life, and reports whether that is news.
func (r *reach) heard(now time.Time) (news bool) {
	r.heardAt, news = now, r.silent
	if news {
		r.backAt = now
	}
	r.away, r.silent, r.testing = false, false, false
	return news
}

// notBefore is when a request can be made that is due at a time.
func (r *reach) notBefore(due time.Time) time.Time {
	if r.away && r.testAt.After(due) {
		return r.testAt
	}
	return due
}

// newBackoff are the pauses after failures that go away by themselves.
func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 10, Cap: 1500 * time.Millisecond}
}

// newRefusedBackoff are those after a refusal, which only another status or
// another state of the API server ends.
func newRefusedBackoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 20, Cap: time.Minute}
}
