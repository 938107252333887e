package register

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// firstWait is doubled with every failure, up to one of the others.
	firstWait = 100 * time.Millisecond
	// longestSilent is for an API server that nobody answers for: the attempt costs
	// it nothing, and the node is back within a second after it.
	longestSilent = time.Second
	// longestRefused is for one that answers with an error.
	longestRefused = 3 * time.Second
	// remindEvery is how often a failure that lasts is logged again.
	remindEvery = 5 * time.Minute
)

// backoff is the wait between attempts at one thing, and the log of an outage:
// its beginning, a reminder now and then, and its end.
type backoff struct {
	log  *slog.Logger
	what string

	wait     time.Duration
	refused  bool
	since    time.Time
	reminded time.Time
}

// failed is how long to wait before the next attempt.
func (b *backoff) failed(err error) time.Duration {
	refused := isAnswer(err)
	longest := longestSilent
	if refused {
		longest = longestRefused
	}
	if refused != b.refused {
		b.refused, b.wait = refused, 0
	}
	b.wait = min(max(2*b.wait, firstWait), longest)
	b.complain(err)
	wait := b.wait/2 + rand.N(b.wait)
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		wait = max(wait, time.Duration(seconds)*time.Second)
	}
	return wait
}

func (b *backoff) complain(err error) {
	now := time.Now()
	if b.since.IsZero() {
		b.since = now
	} else if now.Sub(b.reminded) < remindEvery {
		return
	}
	b.reminded = now
	b.log.Warn(b.what+" fails", "since", b.since.Format(time.TimeOnly), "err", err)
}

// succeeded ends an outage; it says whether there was one.
func (b *backoff) succeeded() (wasOut bool) {
	wasOut = !b.since.IsZero()
	if wasOut {
		b.log.Info(b.what+" works again", "after", time.Since(b.since).Round(time.Millisecond))
	}
	b.wait, b.since = 0, time.Time{}
	return wasOut
}

// isAnswer says whether an error is an answer of the API server.
func isAnswer(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer)
}
