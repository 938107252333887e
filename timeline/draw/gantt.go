package draw

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/sentence"
	"github.com/lifepod/lifepod/timeline"
)

// MinWidth is the least width, in columns. A terminal that is narrower gets this.
const MinWidth = 60

// TextOptions are how charts are drawn.
type TextOptions struct {
	Width  int  // columns
	Colour bool // by the terminal's escapes
}

// WriteText draws one pod in full, several with a row for each, or a group.
func WriteText(w io.Writer, charts []*timeline.Chart, o TextOptions) error {
	if len(charts) == 0 {
		return nil
	}
	p := &page{axis: timeline.Together(charts), language: charts[0].Language, colour: o.Colour, width: max(o.Width, MinWidth)}
	switch {
	case len(charts) > 1:
		p.several(timeline.InTime(charts))
	case charts[0].Group != nil:
		p.group(charts[0])
	default:
		p.one(charts[0])
	}
	_, err := io.WriteString(w, p.text.String())
	return err
}

// page is what is being written.
type page struct {
	text     strings.Builder
	axis     *timeline.Axis
	colour   bool
	language sentence.Language
	width    int // of a line
	labels   int // of the labels on the left
	cells    int // of the axis
}

// figures is the width of what is on the right of the axis.
const figures = 9

// fit gives labels the width that they need, within limits.
func (p *page) fit(labels []string) {
	for _, l := range labels {
		p.labels = max(p.labels, plain.Width(l))
	}
	p.labels = min(p.labels, p.width*3/10)
	p.cells = p.width - p.labels - 1 - 1 - figures
}

// one draws a pod in full.
func (p *page) one(c *timeline.Chart) {
	var rows []timeline.Row
	var labels []string
	for _, r := range c.Rows {
		if r.Kind == timeline.CgroupRow && !matters(&r) {
			continue
		}
		rows, labels = append(rows, r), append(labels, name(p.language, &r))
	}
	p.fit(labels)
	p.wrapped(headline(c), "  ")
	p.wrapped(reached(c)+p.language.Say(", created %s UTC", c.Begin.UTC().Format(time.DateTime)), "  ")
	p.line("")
	p.ticks()
	for i := range rows {
		p.row(labels[i], &rows[i], p.figure(&rows[i]))
	}
	p.line("")
	p.shares(c)
	p.legend()
}

// matters says whether a row is more than the usual.
func matters(r *timeline.Row) bool {
	return slices.ContainsFunc(r.Bars, func(b timeline.Bar) bool { return b.Failed() || b.Critical && b.Duration() >= 10_000_000 })
}

// several draws each pod in one row.
func (p *page) several(charts []*timeline.Chart) {
	last, first := timeline.Slowest(charts)
	var labels []string
	for _, c := range charts {
		labels = append(labels, plain.Line(shortest(c, charts)))
	}
	p.fit(labels)
	p.ticks()
	for i, c := range charts {
		row := c.Summary()
		if i != last {
			for j := range row.Bars {
				row.Bars[j].Critical = false
			}
		}
		p.row(labels[i], &row, timeline.Took(c.Path.At.Sub(p.axis.Begin)))
	}
	p.line("")
	for i, c := range charts {
		text := fmt.Sprintf("%s %s", labels[i], reached(c))
		if len(c.Path.Shares) > 0 {
			text += p.language.Word(": ") + share(p.language, &c.Path.Shares[0])
		}
		p.wrapped(text, "  ")
	}
	behind := charts[last].Path.At.Sub(charts[first].Path.At)
	p.wrapped(p.language.Say("slowest: %s, %s after %s", labels[last], timeline.Took(behind), labels[first]), "  ")
	p.legend()
}

// shortest is a pod's name, with its namespace where the pods have different ones.
func shortest(c *timeline.Chart, among []*timeline.Chart) string {
	for _, other := range among {
		if other.Pod.Namespace != c.Pod.Namespace {
			return c.Pod.FullName()
		}
	}
	return c.Pod.Name
}

// headline is which pod it is, and how.
func headline(c *timeline.Chart) string {
	text := c.Pod.FullName()
	if c.Pod.Node != "" {
		text = c.Language.Say("%s on %s", text, c.Pod.Node)
	}
	return plain.Line(text + c.Language.Word(": ") + state(c))
}

// state is the pod's phase, and whether it is gone.
func state(c *timeline.Chart) string {
	text := cmp.Or(c.Phase, c.Language.Word("not begun"))
	switch {
	case c.Held:
		return text + c.Language.Word(", ended, and its object is still there")
	case c.Gone:
		return text + c.Language.Word(", gone")
	}
	return text
}

// reached is what a pod's critical path led to.
func reached(c *timeline.Chart) string {
	took := timeline.Took(c.Path.At.Sub(c.Begin))
	if c.Path.To == "now" {
		return c.Language.Say("not Ready for %s", took)
	}
	return plain.Line(c.Language.Say("%s after %s", c.Language.Word(c.Path.To), took))
}

// name is a row's label.
func name(l sentence.Language, r *timeline.Row) string {
	text := r.In(l)
	switch {
	case r.Kind == timeline.ProbeRow:
		return " " + plain.Line(r.Probe(l))
	case r.Kind == timeline.ContainerRow && r.Of != "container":
		text += l.Say(" (%s)", l.Word(r.Of))
	}
	return plain.Line(text)
}

// shares names what took most of the critical path.
func (p *page) shares(c *timeline.Chart) {
	const most, least = 5, 3 // so many, and so many percent
	if len(c.Path.Shares) == 0 {
		return
	}
	p.line(p.language.Say("critical path to %s, %s:", plain.Line(goal(c)), timeline.Took(c.Path.Duration())))
	for i, s := range c.Path.Shares {
		if i > 0 && (i == most || s.Percent < least) {
			break
		}
		p.wrapped(fmt.Sprintf("  %7s  %s", timeline.Took(s.Took), share(p.language, &s)), strings.Repeat(" ", 11))
	}
	if c.Left > 0 {
		p.wrapped(p.language.Say("%d entries of the journal between the first and the newest are left out", c.Left), "  ")
	}
}

// share is "62 % image pull of main (busybox:1.37, 4.3 MiB)".
func share(l sentence.Language, s *timeline.Share) string {
	text := fmt.Sprintf("%d %% %s", s.Percent, s.Label)
	if s.Bytes > 0 {
		text += l.Say(" (%s, %s)", s.Image, timeline.Size(s.Bytes))
	}
	return plain.Line(text)
}
