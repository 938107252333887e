package sim

import (
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// queue has what is going to happen, in the order of time; what is due at the same time comes
// in the order in which it was put in. It is a binary heap of values: container/heap would
// allocate each.
type queue struct {
	items []item
	last  int64
}

// item is one thing that is going to happen: one of the three.
type item struct {
	at    time.Duration // since the simulation began
	order int64

	do   func()
	call *call          // it has taken its time
	fact lifecycle.Fact // the agent learns it, if it is still the one
	of   int            // that agent
}

func (q *queue) empty() bool { return len(q.items) == 0 }

func (q *queue) put(i item) {
	q.last++
	i.order = q.last
	q.items = append(q.items, i)
	for at := len(q.items) - 1; at > 0; {
		above := (at - 1) / 2
		if !q.before(at, above) {
			break
		}
		q.items[at], q.items[above] = q.items[above], q.items[at]
		at = above
	}
}

// take is what happens next, if it does until then.
func (q *queue) take(until time.Duration) (next item, more bool) {
	if len(q.items) == 0 || q.items[0].at > until {
		return item{}, false
	}
	next = q.items[0]
	end := len(q.items) - 1
	q.items[0], q.items[end] = q.items[end], item{}
	q.items = q.items[:end]
	for at := 0; ; {
		first := at
		for _, below := range [2]int{2*at + 1, 2*at + 2} {
			if below < end && q.before(below, first) {
				first = below
			}
		}
		if first == at {
			return next, true
		}
		q.items[at], q.items[first] = q.items[first], q.items[at]
		at = first
	}
}

func (q *queue) before(i, j int) bool {
	a, b := &q.items[i], &q.items[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}
