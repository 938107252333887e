package story

import (
	"github.com/lifepod/lifepod/lifecycle"
)

// attempts count what is tried again until it works, such as the pull of an image:
// the same failure is reported once, not at each attempt.
type attempts map[string]map[string]int // by a report's subject and what it tells

// toTell is what to write of a report; empty if it says only that an attempt went
// as the ones before.
func (a attempts) toTell(r lifecycle.Report, say lifecycle.Say) string {
	if !r.Again {
		return r.In(say).Line(say) + a.over(r.Subject, say)
	}
	if a[r.Subject] == nil {
		a[r.Subject] = map[string]int{}
	}
	w := r.In(say)
	if a[r.Subject][w.What]++; a[r.Subject][w.What] > 1 {
		return ""
	}
	return w.Line(say)
}

// over ends a subject's attempts and says how many there were, if they were many.
func (a attempts) over(subject string, say lifecycle.Say) string {
	most := 0
	for _, n := range a[subject] {
		most = max(most, n)
	}
	delete(a, subject)
	if most < 2 {
		return ""
	}
	return say(" (after %d attempts)", most)
}
