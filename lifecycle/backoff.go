package lifecycle

import (
	"cmp"
	"time"
)

// BackOffPolicy is a delay that doubles from Initial to Max and begins anew
// after Reset without trouble (A-BO-3, A-BO-4).
type BackOffPolicy struct {
	Initial time.Duration
	Max     time.Duration
	Reset   time.Duration
	// FactorThousandths is by how much a delay grows, in thousandths; 0 is 2000: it doubles.
	FactorThousandths int64
}

// backOff is where one container or image is on its curve.
type backOff struct {
	Delay time.Duration `json:"delay"` // 0: the next try is immediate
	From  time.Time     `json:"from"`  // crash: the last start; image: the last failure
}

// next is the delay after one more failure (A-BO-3).
func (p BackOffPolicy) next(delay time.Duration) time.Duration {
	if delay == 0 {
		return min(p.Initial, p.Max)
	}
	factor := cmp.Or(p.FactorThousandths, 2000)
	return min(delay*time.Duration(factor)/1000, p.Max)
}

// crashDelay is how long after the exit the container may be started again:
// nothing after a run longer than Reset, whose entry has expired (A-BO-4).
func (p BackOffPolicy) crashDelay(b backOff, finishedAt time.Time) time.Duration {
	if finishedAt.Sub(b.From) > p.Reset {
		return 0
	}
	return b.Delay
}

// advanceCrash moves a container along its curve when an instance that had an
// exited predecessor was created: not before, so that a failing pull does not
// count as a crash (A-BO-6).
func advanceCrash(s *step, c *container) {
	policy := crashPolicy(s, c)
	delay := policy.crashDelay(c.BackOff, c.EndedAt)
	c.BackOff = backOff{Delay: policy.next(delay), From: s.now}
}
