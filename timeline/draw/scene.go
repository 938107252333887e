package draw

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
)

// Scene is a drawing: lanes below an axis. Positions along the axis are shares of its length, so that it
// can be of any length; heights are pixels.
type Scene struct {
	Name   string `json:"name"` // for those who don't see it
	Lanes  []Lane `json:"lanes"`
	Ticks  []Tick `json:"ticks"`
	Cuts   []Span `json:"cuts,omitempty"`
	Links  []Link `json:"links,omitempty"`
	Height int    `json:"height"`
}

// The heights of what a scene is made of.
const (
	axisHeight = 26
	laneHeight = 30
	barHeight  = 14
)

// Lane is a row of a chart.
type Lane struct {
	Label string `json:"label"`
	Of    string `json:"of,omitempty"` // the kind of a container, unless it is a regular one
	Y     int    `json:"y"`
	Bars  []Box  `json:"bars,omitempty"`
	Dots  []Dot  `json:"dots,omitempty"`
}

// Box is a bar.
type Box struct {
	Span
	Y        int             `json:"y"`
	Height   int             `json:"height"`
	Class    timeline.Class  `json:"class"`
	Critical bool            `json:"critical,omitempty"`
	Failed   bool            `json:"failed,omitempty"`
	Open     bool            `json:"open,omitempty"`
	Title    string          `json:"title"` // what it is, in a line
	Took     string          `json:"took"`
	Detail   []timeline.Note `json:"detail,omitempty"`
	Inside   string          `json:"inside,omitempty"` // text in the bar; empty: there is no room for it
}

// Dot is a mark.
type Dot struct {
	X     string `json:"x"`
	Y     int    `json:"y"`
	Title string `json:"title"`
	Bad   bool   `json:"bad,omitempty"`
}

// Tick is a time at the axis.
type Tick struct {
	X      string `json:"x"`
	Label  string `json:"label"`
	Anchor string `json:"anchor"`
}

// Span is a piece of the axis.
type Span struct {
	X     string `json:"x"`
	Width string `json:"width"`
	End   string `json:"end"`
}

// Link is where the critical path goes from one lane to another.
type Link struct {
	X    string `json:"x"`
	From int    `json:"from"`
	To   int    `json:"to"`
}

func asPercent(position float64) string {
	return strconv.FormatFloat(100*position, 'f', 3, 64) + "%"
}

func spanOf(from, to float64) Span {
	return Span{asPercent(from), asPercent(to - from), asPercent(to)}
}

// newScene draws rows over an axis; begin is what times are counted from.
func newScene(l sentence.Language, name string, rows []timeline.Row, axis *timeline.Axis, begin time.Time) *Scene {
	const ticks, lastWithin = 8, 0.93
	s := &Scene{Name: plain.Line(name), Height: axisHeight + laneHeight*len(rows)}
	for _, t := range axis.Ticks(ticks) {
		anchor := "start"
		if t.Position > lastWithin {
			anchor = "end"
		}
		s.Ticks = append(s.Ticks, Tick{asPercent(t.Position), t.Label, anchor})
	}
	for _, cut := range axis.Cuts() {
		s.Cuts = append(s.Cuts, spanOf(cut[0], cut[1]))
	}
	for i := range rows {
		s.Lanes = append(s.Lanes, laneOf(l, &rows[i], axis, begin, axisHeight+laneHeight*i))
	}
	s.link(rows, axis)
	return s
}

func laneOf(language sentence.Language, r *timeline.Row, axis *timeline.Axis, begin time.Time, y int) Lane {
	l := Lane{Label: plain.Line(r.In(language)), Y: y}
	if r.Kind == timeline.ContainerRow && r.Of != "container" {
		l.Of = plain.Line(language.Word(r.Of))
	}
	for i := range r.Bars {
		l.Bars = append(l.Bars, boxOf(language, &r.Bars[i], axis, begin, y))
	}
	for _, m := range r.Marks {
		l.Dots = append(l.Dots, Dot{X: asPercent(axis.Position(m.At)), Y: y + laneHeight/2, Title: markText(language, r, &m, begin), Bad: m.Failed})
	}
	return l
}

func boxOf(l sentence.Language, b *timeline.Bar, axis *timeline.Axis, begin time.Time, y int) Box {
	const roomy = 0.12 // as a share of the axis
	from, to := axis.Position(b.Begin), axis.Position(b.End)
	box := Box{
		Span: spanOf(from, to), Y: y + (laneHeight-barHeight)/2, Height: barHeight, Class: b.Step.Class(), Critical: b.Critical,
		Failed: b.Failed(), Open: b.Open, Took: timeline.Took(b.Duration()), Detail: b.Detail(l),
	}
	box.Title = l.Say("%s: %s, from +%s", plain.Line(b.Label), box.Took, timeline.Took(b.Begin.Sub(begin)))
	if b.Open {
		box.Title += l.Word(", goes on")
	}
	if b.Attempt > 0 {
		box.Title += l.Say(", restart %d", b.Attempt)
	}
	if to-from >= roomy {
		box.Inside = box.Took
	}
	return box
}

func markText(l sentence.Language, r *timeline.Row, m *timeline.Mark, begin time.Time) string {
	text := l.Say("%s: %s at +%s", r.In(l), m.Name, timeline.Took(m.At.Sub(begin)))
	if m.Text != "" {
		text += l.Word(": ") + m.Text
	}
	return plain.Line(text)
}

// link joins the bars of the critical path, in the order of time.
func (s *Scene) link(rows []timeline.Row, axis *timeline.Axis) {
	type step struct {
		begin time.Time
		lane  int
	}
	var steps []step
	for i, r := range rows {
		for _, b := range r.Bars {
			if b.Critical {
				steps = append(steps, step{b.Begin, i})
			}
		}
	}
	slices.SortStableFunc(steps, func(x, y step) int { return cmp.Or(x.begin.Compare(y.begin), cmp.Compare(x.lane, y.lane)) })
	bottom := func(lane int) int { return axisHeight + laneHeight*lane + (laneHeight+barHeight)/2 + pathBelow }
	for i := 1; i < len(steps); i++ {
		if from, to := steps[i-1].lane, steps[i].lane; from != to {
			s.Links = append(s.Links, Link{asPercent(axis.Position(steps[i].begin)), bottom(from), bottom(to)})
		}
	}
}

// pathBelow is how far below a bar the line of the critical path is.
const pathBelow = 3

// PathY is where the line of the critical path is.
func (b Box) PathY() int { return b.Y + b.Height + pathBelow }

// TextY is the base line of text in the bar.
func (b Box) TextY() int { return b.Y + b.Height - 3 }

// Lines is what there is to say about a bar, a line each.
func (b Box) Lines() string {
	lines := []string{b.Title}
	for _, d := range b.Detail {
		lines = append(lines, noteText(d))
	}
	return strings.Join(lines, "\n")
}

func noteText(n timeline.Note) string {
	if n.Rule != "" {
		return n.Text + " [" + n.Rule + "]"
	}
	return n.Text
}

// TextY is the base line of a lane's label.
func (l Lane) TextY() int { return l.Y + laneHeight/2 + 4 }

func (l Lane) Below() int { return l.Y + laneHeight }
