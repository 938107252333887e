package journal

import (
	"strconv"
	"time"

	"github.com/lifepod/lifepod/lifecycle"
)

// What is what a group waits for in an attempt until the last member has come to it.
type What string

// The steps of an attempt, in their order.
const (
	Heard        What = "heard"  // all take part in the attempt
	Ended        What = "ended"  // nothing of an earlier attempt runs anywhere
	Lifted       What = "lifted" // a member has heard that all are there
	LiftedForAll What = "told"   // all members have heard it
	Runs         What = "runs"   // all regular containers have started
)

// Passage is a member's way through an attempt.
type Passage struct {
	Attempt int32
	// Since says when the member came to each step but Told, which is Lifted of the last one.
	Since map[What]time.Time
	// Failed says that the attempt is because of this member, and Because why it takes part.
	Failed  bool
	Because lifecycle.Because
	// LastToEnd is the container that ran longest of the attempt before; empty: none did.
	LastToEnd string
}

// Passages are those of a member, oldest first. An attempt that the pod took part in twice is the later of the two.
func Passages(r *Record) []Passage {
	w := way{record: r, byID: make(map[int64]int, len(r.Entries)), waiting: map[string]bool{}}
	for i := range r.Entries {
		w.byID[r.Entries[i].ID] = i
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		switch attempt, about := attemptOf(e); {
		case !about:
			w.goesOn(e)
		case lifts(e):
			w.isLifted(e, attempt)
		default:
			w.begins(e, attempt)
		}
	}
	return w.list
}

// attemptOf is the attempt of its group that an entry is about.
func attemptOf(e *Entry) (attempt int32, found bool) {
	if e.Kind != Decided {
		return 0, false
	}
	n, err := strconv.ParseInt(e.Detail[DetailAttempt], 10, 32)
	return int32(n), err == nil
}

// lifts says that a decision starts what has waited for the group.
func lifts(e *Entry) bool { return e.Rule == "B-GRP-5" }

// way is a member's way, entry by entry.
type way struct {
	record  *Record
	byID    map[int64]int
	list    []Passage
	ending  bool            // what ran in the attempt before
	waiting map[string]bool // containers that are still to start
}

// newest is the passage that the member is in; nil: in none.
func (w *way) newest() *Passage {
	if len(w.list) == 0 {
		return nil
	}
	return &w.list[len(w.list)-1]
}

func (w *way) begins(e *Entry, attempt int32) {
	p := w.newest()
	if p == nil || p.Attempt != attempt {
		w.list = append(w.list, Passage{})
		p = w.newest()
	}
	*p = Passage{Attempt: attempt, Failed: e.Rule == "B-GRP-6", Because: e.because(), Since: map[What]time.Time{Heard: e.At, Ended: e.At}}
	if p.Failed {
		p.Since[Heard] = w.exitBefore(e)
	}
	w.ending = true
	clear(w.waiting)
}

// because is why something was decided: of a lifepod that kept only words those.
func (e *Entry) because() lifecycle.Because {
	if e.Report == nil {
		return lifecycle.Because{Text: e.Because}
	}
	return e.Report.Because
}

// exitBefore is when the exit was that a decision follows from; of another decision it is the decision's own time.
func (w *way) exitBefore(e *Entry) time.Time {
	if i, found := w.byID[e.Cause]; found {
		if exit := w.record.Entries[i].Exit; exit != nil && !exit.FinishedAt.IsZero() && exit.FinishedAt.Before(e.At) {
			return exit.FinishedAt
		}
	}
	return e.At
}

func (w *way) isLifted(e *Entry, attempt int32) {
	p := w.newest()
	if p == nil || p.Attempt != attempt { // the entry with which it began was given up
		return
	}
	p.Since[Lifted], w.ending = e.At, false
	for _, c := range w.record.Pod.Containers {
		if c.Kind == "container" {
			w.waiting[c.Name] = true
		}
	}
}

// goesOn is about an end of what ran before, or a start in the attempt.
func (w *way) goesOn(e *Entry) {
	p := w.newest()
	switch {
	case p == nil:
	case w.ending && e.Kind == Fact && e.Exit != nil:
		p.Since[Ended], p.LastToEnd = e.At, e.Container
	case w.ending && e.Kind == Begun && e.Name == "CreateContainer":
		w.ending = false
	case w.waiting[e.Container] && e.Kind == Answered && e.Name == "StartContainer" && e.Failure == nil:
		delete(w.waiting, e.Container)
		if len(w.waiting) == 0 {
			p.Since[Runs] = e.At
		}
	}
}
