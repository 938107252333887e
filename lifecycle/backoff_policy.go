package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// advanceCrash moves a container along its back-off curve. It is called when an instance
// is created whose predecessor has exited, and not earlier, so that a failing pull does
// not count as a crash (A-BO-6).
func advanceCrash(s *step, c *container) {
	policy := s.crashPolicy(c)
	delay := policy.CrashDelay(c.BackOff, c.EndedAt)
	c.BackOff = BackoffPlace{Delay: policy.Next(delay), From: s.now}
}

// ParseBackoff reads "none", "constant=5s" or "initial=1s factor=1.5 max=30s reset=10m".
func ParseBackoff(text string) (BackoffPolicy, error) {
	p := DefaultBackoff()
	if text == "none" {
		return BackoffPolicy{Reset: p.Reset}, nil
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return p, errors.New("empty; write for example: initial=1s factor=2 max=30s, constant=5s, or none")
	}
	for _, field := range fields {
		name, value, ok := strings.Cut(field, "=")
		if !ok {
			return p, fmt.Errorf("%q is not NAME=VALUE, such as initial=1s", field)
		}
		if err := p.set(name, value, len(fields)); err != nil {
			return p, err
		}
	}
	if p.Initial > p.Max {
		return p, fmt.Errorf("initial %v is longer than max %v", p.Initial, p.Max)
	}
	return p, nil
}

func (p *BackoffPolicy) set(name, value string, fields int) error {
	if name == "factor" {
		factor, err := parseFactor(value)
		p.FactorThousandths = factor
		return err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 || d > 24*time.Hour {
		return fmt.Errorf("%s=%s: not a duration between 0 and 24h, such as 1s or 5m", name, value)
	}
	switch name {
	case "initial":
		p.Initial = d
	case "max":
		p.Max = d
	case "reset":
		p.Reset = d
	case "constant":
		if fields > 1 {
			return errors.New("constant stands alone")
		}
		p.Initial, p.Max = d, d
	default:
		return fmt.Errorf("%q is none of initial, factor, max, reset and constant", name)
	}
	return nil
}

// parseFactor reads a number from 1 to 100 with up to three decimals.
func parseFactor(text string) (int64, error) {
	whole, decimals, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole+(decimals + "000")[:3], 10, 32)
	if err != nil || len(decimals) > 3 || n < 1000 || n > 100_000 {
		return 0, fmt.Errorf("factor=%s: not a number from 1 to 100 with at most three decimals", text)
	}
	return int64(n), nil
}
