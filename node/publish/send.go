package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	timeout     = 10 * time.Second
	triesMost   = 12
	busyPause   = time.Second
	busyLongest = 30 * time.Second
)

// eventRequest is one request's worth of a series.
type eventRequest struct {
	series  *series
	event   *v1.Event
	created bool
}

// send tells the API server and files what came of it.
func (r *Recorder) send(ctx context.Context, t eventRequest) {
	if r.Slots != nil {
		defer func() { <-r.Slots }()
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := r.request(limited, &t)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := t.series
	s.busy = false
	r.busy--
	switch what := judge(err); {
	case what == taken:
		r.back()
		s.created, s.sent, s.tries = true, t.event.Count, 0
		if s.count > s.sent {
			r.queue(s)
		} else {
			s.event = nil
		}
	case what == eventUnanswered:
		r.fail(err)
		r.retry(s)
	case what == tryAgain && s.tries < triesMost:
		s.tries++
		r.retry(s)
		s.notBefore = time.Now().Add(pauseOf(err, s.tries))
	default:
		r.back()
		s.tries = 0
		r.Log.Debug("the event is not taken", "reason", t.event.Reason, "object", t.event.InvolvedObject.Name, "err", err)
	}
	r.wake.Send()
}

// request makes the event's object, or brings its count up to date; one that the
// API server has dropped meanwhile is made anew.
func (r *Recorder) request(ctx context.Context, t *eventRequest) error {
	events := r.Client.CoreV1().Events(t.event.Namespace)
	if t.created {
		patch, err := json.Marshal(map[string]any{
			"count": t.event.Count, "lastTimestamp": t.event.LastTimestamp, "message": t.event.Message,
		})
		if err != nil {
			return fmt.Errorf("encode the count of an event: %w", err)
		}
		if _, err = events.Patch(ctx, t.event.Name, types.MergePatchType, patch, metav1.PatchOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err := events.Create(ctx, t.event, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // the answer to the first try was lost
		return nil
	}
	return err
}

// verdict is what the answer to a request means.
type verdict int

const (
	taken verdict = iota
	eventUnanswered
	tryAgain
	rejected
)

func judge(err error) verdict {
	if err == nil {
		return taken
	}
	switch classify(err) {
	case unreachable, unanswered:
		return eventUnanswered
	case transient:
		return tryAgain
	case none, conflicting, refused:
	}
	if apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause) {
		return tryAgain // an API server that starts denies everything until it knows its rules
	}
	return rejected // among others: its namespace is being deleted
}

// retry lets a series wait once more, unless it has waited for too long. Called
// with mu held.
func (r *Recorder) retry(s *series) {
	if time.Since(s.event.LastTimestamp.Time) > waitLongest {
		r.lost++
		return
	}
	r.wait(s)
}

// fail notes a request without an answer. Called with mu held.
func (r *Recorder) fail(err error) {
	if !r.away {
		r.away = true
		r.pause = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.3, Steps: 10, Cap: 8 * time.Second}
		r.Log.Debug("the API server does not answer: events wait", "err", err)
	}
	r.until = time.Now().Add(r.pause.Step())
}

// back notes an answer. Called with mu held.
func (r *Recorder) back() {
	if now := time.Now(); r.lost > 0 && !now.Before(r.lostLogged) {
		r.Log.Warn("events were lost: the API server was away for too long, or more waited than there is room for", "lost", r.lost)
		r.lost, r.lostLogged = 0, now.Add(lostEvery)
	}
	r.away = false
}

// pauseOf is how long to wait after an answer that asks to try again.
func pauseOf(err error, tries int) time.Duration {
	pause := wait.Jitter(min(time.Duration(tries)*time.Second, 10*time.Second), 0.3)
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		pause = max(pause, time.Duration(seconds)*time.Second)
	}
	return pause
}

// notBefore is when a series that waits can be told: its own time, and the rate
// of all. Called with mu held.
func (r *Recorder) notBefore(s *series, now time.Time) time.Time {
	if r.ending && s.tries == 0 {
		return now
	}
	if s.notBefore.After(now) {
		return s.notBefore
	}
	if r.givesWay(s, now) {
		return now.Add(busyPause)
	}
	if r.rate.AllowN(now, 1) {
		return now
	}
	return now.Add(time.Duration(float64(time.Second) / float64(r.rate.Limit())))
}

// givesWay says whether a series, whose own time has come, waits for what is more urgent.
func (r *Recorder) givesWay(s *series, now time.Time) bool {
	return r.Busy != nil && s.event.Type == v1.EventTypeNormal && now.Sub(s.notBefore) < busyLongest && r.Busy()
}
