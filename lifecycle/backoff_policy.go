package lifecycle

import (
	"cmp"
	"time"
)

// BackoffPolicy is a delay that grows from Initial to Max and starts over after Reset without a
// failure (A-BO-3, A-BO-4).
type BackoffPolicy struct {
	Initial time.Duration
	Max     time.Duration
	Reset   time.Duration
	// FactorThousandths is the growth factor in thousandths; 0 means 2000: the delay
	// doubles.
	FactorThousandths int64
}

// DefaultBackoff returns the policy of Kubernetes 1.37, for containers and images alike (A-BO-3,
// A-IMG-5).
func DefaultBackoff() BackoffPolicy {
	return BackoffPolicy{Initial: 10 * time.Second, Max: 300 * time.Second, Reset: 600 * time.Second}
}

// BackoffPlace is the position of one container or image on its back-off curve.
type BackoffPlace struct {
	Delay time.Duration `json:"delay"` // 0: the next try is immediate
	From  time.Time     `json:"from"`  // crash: the last start; image: the last failure
}

// Next is the delay after one more failure (A-BO-3).
func (p BackoffPolicy) Next(delay time.Duration) time.Duration {
	if delay == 0 {
		return min(p.Initial, p.Max)
	}
	factor := cmp.Or(p.FactorThousandths, 2000)
	return min(delay*time.Duration(factor)/1000, p.Max)
}

// CrashDelay is the delay between a container's end and its restart. It is zero after a
// run longer than Reset, because the back-off has then expired (A-BO-4).
func (p BackoffPolicy) CrashDelay(at BackoffPlace, finishedAt time.Time) time.Duration {
	if finishedAt.Sub(at.From) > p.Reset {
		return 0
	}
	return at.Delay
}
