// Package times keeps the times that measurements take, and words them.
package times

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Samples are the measured times by what was measured. The zero value has none.
type Samples struct {
	mu sync.Mutex
	by map[string][]time.Duration
}

// Record files one time; a warm-up's goes nowhere.
type Record func(what string, d time.Duration)

// When is a Record that files if counted.
func (s *Samples) When(counted bool) Record {
	return func(what string, d time.Duration) {
		if !counted {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.by == nil {
			s.by = map[string][]time.Duration{}
		}
		s.by[what] = append(s.by[what], d)
	}
}

func (s *Samples) Of(what string) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.by[what])
}

// Prefixed files each time under a name with a prefix, as in "floor create".
func (r Record) Prefixed(prefix string) Record {
	return func(what string, d time.Duration) { r(prefix+what, d) }
}

// Quantile is the time that the share q of all, 0 to 1, do not exceed; 0 of none.
func Quantile(d []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Milliseconds is a time as a table shows it; one that was not measured is a dash.
func Milliseconds(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fms", float64(d.Microseconds())/1000)
}

// Verdict says whether what was to be reached is reached.
func Verdict(measured, met bool) string {
	switch {
	case !measured:
		return "-"
	case met:
		return "met"
	}
	return "NOT met"
}

// Ratio is how many times as much theirs is, a dash if one was not measured.
func Ratio(theirs, ours float64) string {
	if theirs == 0 || ours == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f×", theirs/ours)
}

// InMilliseconds is a time in milliseconds, to the microsecond.
func InMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
