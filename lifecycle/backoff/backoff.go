// Package backoff is the curve on which Kubernetes waits longer after each failure of a
// container or of a pull.
package backoff

import (
	"cmp"
	"time"
)

// Policy is a delay that doubles from Initial to Max and begins anew after Reset
// without a failure (A-BO-3, A-BO-4).
type Policy struct {
	Initial time.Duration
	Max     time.Duration
	Reset   time.Duration
	// FactorThousandths is by how much a delay grows, in thousandths; 0 is 2000: it doubles.
	FactorThousandths int64
}

// Default is that of Kubernetes 1.36, of containers as of images (A-BO-3, A-IMG-5).
func Default() Policy {
	return Policy{Initial: 10 * time.Second, Max: 300 * time.Second, Reset: 600 * time.Second}
}

// Place is where one container or image is on its curve.
type Place struct {
	Delay time.Duration `json:"delay"` // 0: the next try is immediate
	From  time.Time     `json:"from"`  // crash: the last start; image: the last failure
}

// Next is the delay after one more failure (A-BO-3).
func (p Policy) Next(delay time.Duration) time.Duration {
	if delay == 0 {
		return min(p.Initial, p.Max)
	}
	factor := cmp.Or(p.FactorThousandths, 2000)
	return min(delay*time.Duration(factor)/1000, p.Max)
}

// CrashDelay is how long after its end a container may be started again: at once after a
// run longer than Reset, whose entry has expired (A-BO-4).
func (p Policy) CrashDelay(at Place, finishedAt time.Time) time.Duration {
	if finishedAt.Sub(at.From) > p.Reset {
		return 0
	}
	return at.Delay
}
