package podlog

import (
	"container/heap"
	"time"
)

// schedule are the logs that Run looks at.
type schedule struct {
	next   byDue
	byPath map[string]*rotating
}

func newSchedule() *schedule { return &schedule{byPath: map[string]*rotating{}} }

// add adds a log, which is due at once.
func (s *schedule) add(w *rotating) {
	heap.Push(&s.next, w)
	s.byPath[w.Path] = w
}

// remove forgets a log.
func (s *schedule) remove(w *rotating) {
	heap.Remove(&s.next, w.place)
	if s.byPath[w.Path] == w {
		delete(s.byPath, w.Path)
	}
}

// first is the log that is due first; nil: there is none.
func (s *schedule) first() *rotating {
	if len(s.next) == 0 {
		return nil
	}
	return s.next[0]
}

// moved takes that a log is due at another time.
func (s *schedule) moved(w *rotating) { heap.Fix(&s.next, w.place) }

// wake is told of a write to a quiet log, or that its file is another one.
func (s *schedule) wake(path string, now time.Time, writes *writes) {
	w := s.byPath[path]
	if w == nil || w.quiet == nil {
		return
	}
	w.rouse(writes)
	w.due = now.Add(shortest)
	s.moved(w)
}

// byDue is a heap (container/heap).
type byDue []*rotating

// Len implements heap.Interface.
func (b byDue) Len() int { return len(b) }

// Less implements heap.Interface.
func (b byDue) Less(i, j int) bool { return b[i].due.Before(b[j].due) }

// Swap implements heap.Interface.
func (b byDue) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].place, b[j].place = i, j
}

// Push implements heap.Interface.
func (b *byDue) Push(x any) {
	w := x.(*rotating)
	w.place = len(*b)
	*b = append(*b, w)
}

// Pop implements heap.Interface.
func (b *byDue) Pop() any {
	last := len(*b) - 1
	w := (*b)[last]
	(*b)[last] = nil
	*b = (*b)[:last]
	return w
}
