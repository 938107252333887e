package publish

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// failure is what the error of a request means for what comes next.
type failure int

const (
	none        failure = iota
	unreachable         // no pod's request would get an answer
	unanswered          // it may be this pod's request only that hangs
	transient           // the same request may succeed soon
	conflicting         // the object is another than was believed: look
	refused             // only another status, or another API server, helps
)

// classify sorts the error of a request to the API server.
func classify(err error) failure {
	if errors.Is(err, errOutdated) {
		return conflicting
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch code := int(status.Status().Code); code {
		case http.StatusUnauthorized, http.StatusServiceUnavailable:
			return unreachable
		case http.StatusConflict:
			return conflicting
		case http.StatusTooManyRequests, http.StatusRequestTimeout:
			return transient
		default:
			if code >= http.StatusInternalServerError {
				return transient
			}
			return refused
		}
	}
	var call *net.OpError
	if errors.As(err, &call) && call.Op == "dial" {
		return unreachable
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return unanswered
	}
	return unreachable
}

// failures are how writing a pod has failed lately.
type failures struct {
	class     failure
	tries     int // in a row of this class
	pause     wait.Backoff
	at        time.Time // the last failure
	notBefore time.Time // the next attempt
	logged    string    // what was logged of it, if anything
}

// forbiddenQuietly are the first denials, for a second or two, that are not worth
// a word: an API server that starts denies everything until it knows its rules.
const forbiddenQuietly = 5

// add notes one more failure and decides when the next attempt may be made.
func (t *failures) add(err error, now time.Time) {
	if class := classify(err); class != t.class {
		t.class, t.tries, t.pause = class, 0, newBackoff()
		if class == refused {
			t.pause = newRefusedBackoff()
		}
	}
	t.tries++
	t.at, t.notBefore = now, now.Add(t.pause.Step())
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		t.notBefore = later(t.notBefore, now.Add(time.Duration(seconds)*time.Second))
	}
}

// news says whether an error has to be logged, which is then filed: once for each
// that is new, if it is one that does not go away by looking again.
func (t *failures) news(err error) bool {
	if t.class == conflicting || apierrors.IsForbidden(err) && t.tries < forbiddenQuietly || t.logged == err.Error() {
		return false
	}
	t.logged = err.Error()
	return true
}

// renewed lets a new status be tried soon that may be taken where the last was
// refused.
func (t *failures) renewed() {
	if soon := t.at.Add(time.Second); t.class == refused && soon.Before(t.notBefore) {
		t.notBefore = soon
	}
}

// back lets a request be made again that got no answer, because others do.
func (t *failures) back() {
	if t.class == unreachable || t.class == unanswered {
		t.notBefore = time.Time{}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
