package sim

import (
	"container/heap"
	"time"
)

// queue has what is going to happen, in the order of time; what is due at the same time comes
// in the order in which it was put in.
type queue struct {
	items []item
	last  int64
}

type item struct {
	at   time.Duration // since the simulation began
	turn int64
	do   func()
}

func (q *queue) Len() int { return len(q.items) }
func (q *queue) Less(i, j int) bool {
	a, b := q.items[i], q.items[j]
	return a.at < b.at || a.at == b.at && a.turn < b.turn
}
func (q *queue) Swap(i, j int) { q.items[i], q.items[j] = q.items[j], q.items[i] }

// Push is the heap's.
func (q *queue) Push(x any) { q.items = append(q.items, x.(item)) }

// Pop is the heap's.
func (q *queue) Pop() any {
	last := q.items[len(q.items)-1]
	q.items[len(q.items)-1] = item{}
	q.items = q.items[:len(q.items)-1]
	return last
}

func (q *queue) put(at time.Duration, do func()) {
	q.last++
	heap.Push(q, item{at, q.last, do})
}

// take is what happens next, if it does until then.
func (q *queue) take(until time.Duration) (next item, more bool) {
	if len(q.items) == 0 || q.items[0].at > until {
		return item{}, false
	}
	return heap.Pop(q).(item), true
}
