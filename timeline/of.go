package timeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/journal"
)

// Of is the chart of what the journal has of a pod, as of now.
func Of(record *journal.Record, now time.Time) *Chart { return In(sentence.English, record, now) }

// In is Of in a language.
func In(language sentence.Language, record *journal.Record, now time.Time) *Chart {
	b := &builder{
		board: &board{language: language, record: record, entries: map[int64]*journal.Entry{}, rows: map[rowKey]*row{}, begun: map[int64]*Bar{}, ended: map[int64]*Bar{}, noted: map[int64]bool{}},
		now:   now, calls: map[int64]*call{}, lives: map[string]*life{}, delays: delays{}, instances: map[instance]int64{},
	}
	for i := range record.Entries {
		e := &record.Entries[i]
		b.entries[e.ID] = e
		b.last, b.at = b.at, later(b.at, e.At)
		b.file(e)
	}
	return b.chart()
}

// builder makes a chart of entries, one after the other.
type builder struct {
	*board
	now  time.Time
	last time.Time // of the entry before
	done time.Time // when something was done last

	calls     map[int64]*call // those without an answer, by the entry that they began with
	lives     map[string]*life
	delays    delays
	instances map[instance]int64 // the entry that an instance runs since
	pod       podLife
}

// call is work that was begun.
type call struct {
	bar *Bar
	of  rowKey
}

// instance is one of a container's.
type instance struct {
	container string
	attempt   uint32
}

// file takes an entry into the chart.
func (b *builder) file(e *journal.Entry) {
	switch e.Kind {
	case journal.Begun:
		b.fileBegun(e)
	case journal.Answered:
		b.done = b.at
		b.fileAnswered(e)
	case journal.Fact:
		b.fileFact(e)
	case journal.Milestone:
		b.fileMilestone(e)
	case journal.Decided:
		b.fileDecided(e)
	case journal.Event:
	}
}

// fileDecided adds a line of the story to what it was decided about: what ended with its cause, or
// began with it.
func (b *builder) fileDecided(e *journal.Entry) {
	bar, cause := cmp.Or(b.ended[e.Cause], b.begun[e.Cause]), b.entries[e.Cause]
	if ending := b.begun[e.Cause]; ending != nil && ending.Step.Class() == Stop {
		bar = ending
	}
	if bar != nil && cause.Container == e.Container {
		bar.note(e, b.language)
		b.noted[e.ID] = true
	}
	b.decidedEnd(e)
	if says := e.Says(); says.Later() {
		b.delays.decided(e)
		b.rests(e)
	}
}

func (b *builder) chart() *Chart {
	p := b.record.Pod
	c := &Chart{
		Language: b.language,
		Pod:      Pod{UID: p.UID, Namespace: p.Namespace, Name: p.Name, Node: p.Node, Owner: p.Owner, Labels: p.Labels, TraceParent: p.TraceParent},
		Left:     b.record.Left, Gone: b.pod.gone, Held: b.record.Now != nil && b.record.Now.Held(), Phase: b.pod.phase, ReadyAt: b.pod.readyAt, Begin: b.created(), End: b.at,
	}
	if !c.Gone {
		c.End = later(b.now, b.at)
	}
	if !c.Gone && !b.pod.ending {
		b.delays.finish(b.board)
	}
	b.markPod(c)
	for _, r := range b.inOrder() {
		for _, bar := range r.bars {
			if bar.Open {
				bar.End = c.End
			}
		}
		slices.SortStableFunc(r.Marks, func(x, y Mark) int { return x.At.Compare(y.At) })
		slices.SortStableFunc(r.bars, func(x, y *Bar) int { return x.Begin.Compare(y.Begin) })
		c.Rows = append(c.Rows, r.Row)
	}
	c.Path = path(b, c)
	for i, r := range b.inOrder() {
		for _, bar := range r.bars {
			c.Rows[i].Bars = append(c.Rows[i].Bars, *bar)
		}
	}
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
