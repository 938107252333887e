package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// queue has what is going to happen, the next at its end; what is due at the same time comes
// in the order in which it was put in.
type queue []item

// item is one thing that is going to happen: one of the three.
type item struct {
	at time.Duration // since the simulation began

	do   func()
	call *call          // it has taken its time
	fact lifecycle.Fact // the agent learns it, if it is still the one
	of   int            // that agent
}

func (q *queue) put(i item) {
	place, _ := slices.BinarySearchFunc(*q, i.at, func(other item, at time.Duration) int { return cmp.Compare(at, other.at) })
	*q = slices.Insert(*q, place, i)
}

// take is what happens next, if it does until then.
func (q *queue) take(until time.Duration) (next item, more bool) {
	end := len(*q) - 1
	if end < 0 || (*q)[end].at > until {
		return item{}, false
	}
	next = (*q)[end]
	*q = slices.Delete(*q, end, end+1)
	return next, true
}
