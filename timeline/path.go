package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/journal"
)

// path walks from the pod's first Ready back to its creation, by what led to what.
func path(b *builder, c *Chart) Path {
	w := &walk{b: b, begin: c.Begin}
	last, to := w.goal()
	p := Path{To: to, At: c.End}
	if last == nil {
		return p
	}
	if to == "now" {
		w.piece(last, nil, last.At, c.End)
	} else {
		p.At = last.At
	}
	for e := last; e != nil; {
		before := w.before(e)
		begin := c.Begin
		if before != nil {
			begin = before.At
		}
		w.piece(before, e, begin, e.At)
		e = before
	}
	slices.Reverse(w.pieces)
	p.Pieces = joined(w.pieces)
	p.Shares = w.shares(p.Duration())
	return p
}

// goal is the entry that a pod's critical path leads to.
func (w *walk) goal() (last *journal.Entry, to string) {
	switch {
	case w.b.pod.readyID != 0:
		return w.b.entries[w.b.pod.readyID], "Ready"
	case w.b.pod.phaseID != 0:
		return w.b.entries[w.b.pod.phaseID], w.b.pod.phase
	}
	var newest *Bar // of what goes on
	for _, r := range w.b.inOrder() {
		for _, bar := range r.bars {
			if r.Kind != PodRow && bar.Open && bar.Step != Ready && (newest == nil || bar.Begin.After(newest.Begin)) {
				newest = bar
			}
		}
	}
	if newest == nil {
		if n := len(w.b.record.Entries); n > 0 {
			return &w.b.record.Entries[n-1], "now"
		}
		return nil, "now"
	}
	return w.b.entries[newest.ID], "now"
}

// before is what led to an entry, or what it had to wait for if it came from outside; nil: nothing
// that is known.
func (w *walk) before(e *journal.Entry) *journal.Entry {
	if cause := w.b.entries[e.Cause]; cause != nil && cause.ID < e.ID {
		return cause
	}
	if e.Kind == journal.Fact && e.Name == "Accepted" {
		return nil
	}
	if id := w.b.instances[instance{e.Container, e.Attempt}]; e.Container != "" && id != 0 && id < e.ID {
		return w.b.entries[id]
	}
	i, _ := slices.BinarySearchFunc(w.b.record.Entries, e.ID, func(x journal.Entry, id int64) int { return cmp.Compare(x.ID, id) })
	if i == 0 {
		return nil
	}
	return &w.b.record.Entries[i-1]
}

// walk collects the pieces of a path, the last first.
type walk struct {
	b      *builder
	begin  time.Time
	pieces []Piece
	bars   []*Bar // by piece; nil: of none
}

// piece adds what was done from one entry to the next, which are nil at the ends of the path.
func (w *walk) piece(from, to *journal.Entry, begin, end time.Time) {
	if len(w.pieces) > 0 && end.After(w.pieces[len(w.pieces)-1].Begin) { // the clock was set back
		end = w.pieces[len(w.pieces)-1].Begin
	}
	begin = later(begin, w.begin)
	bars := w.between(from, to, begin, end)
	for i := len(bars) - 1; i >= 0 && end.After(begin); i-- {
		bar := bars[i]
		w.gap(from, to, later(begin, earlier(end, bar.End)), end)
		end = earlier(end, bar.End)
		since := later(begin, bar.Begin)
		w.add(bar, Piece{Step: bar.Step, Label: bar.Label, Begin: since, End: end})
		end = since
	}
	w.gap(from, to, begin, end)
}

// gap is time that no bar covers.
func (w *walk) gap(from, to *journal.Entry, begin, end time.Time) {
	l := w.b.language
	p := Piece{Step: Waiting, Label: l.Word(string(Waiting)), Begin: begin, End: end}
	switch {
	case to == nil:
	case to.Name == "Resumed":
		p.Step, p.Label = Away, l.Word(string(Away))
	case to.Name == "ConditionSet":
		p.Label = l.Say("waiting for %s", to.Because)
	case from != nil && to.Container != "":
		p.Label = to.Container + " " + l.Word(string(Waiting))
	}
	w.add(nil, p)
}

func (w *walk) add(bar *Bar, p Piece) {
	if !p.End.After(p.Begin) {
		return
	}
	if bar != nil {
		bar.Critical = true
	}
	w.pieces, w.bars = append(w.pieces, p), append(w.bars, bar)
}

// between are the bars that cover the time between two entries, without overlaps: of the work that
// the second is the answer to; else of the container that it is about, or of the pod.
func (w *walk) between(from, to *journal.Entry, begin, end time.Time) []*Bar {
	if from != nil && to != nil {
		if bar := w.b.ended[to.ID]; bar != nil && bar.ID == from.ID {
			return []*Bar{bar}
		}
	}
	container, kinds := "", []RowKind{PodRow}
	switch {
	case from == nil: // before the journal
	case to != nil:
		container = cmp.Or(to.Container, from.Container)
	default:
		container = from.Container
	}
	if from != nil {
		kinds = []RowKind{CgroupRow, ClaimsRow, VolumesRow, SandboxRow, ImageRow, ContainerRow}
	}
	var list []*Bar
	for _, r := range w.b.inOrder() {
		if r.Container != container || !slices.Contains(kinds, r.Kind) {
			continue
		}
		for _, bar := range r.bars {
			if bar.Begin.Before(end) && bar.End.After(begin) {
				list = append(list, bar)
			}
		}
	}
	slices.SortStableFunc(list, func(x, y *Bar) int { return x.Begin.Compare(y.Begin) })
	return list
}

// shares are the pieces by label.
func (w *walk) shares(whole time.Duration) (list []Share) {
	for i, p := range w.pieces {
		at := slices.IndexFunc(list, func(s Share) bool { return s.Label == p.Label })
		if at < 0 {
			at = len(list)
			list = append(list, Share{Label: p.Label})
		}
		list[at].Took += p.End.Sub(p.Begin)
		if bar := w.bars[len(w.bars)-1-i]; bar != nil && bar.Bytes > 0 {
			list[at].Image, list[at].Bytes = bar.Image, bar.Bytes
		}
	}
	for i := range list {
		list[i].Percent = percent(list[i].Took, whole)
	}
	slices.SortStableFunc(list, func(x, y Share) int { return cmp.Compare(y.Took, x.Took) })
	return list
}

// joined are pieces with those together that say the same one after the other.
func joined(pieces []Piece) (list []Piece) {
	for _, p := range pieces {
		if n := len(list); n > 0 && list[n-1].Label == p.Label && list[n-1].End.Equal(p.Begin) {
			list[n-1].End = p.End
			continue
		}
		list = append(list, p)
	}
	return list
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
