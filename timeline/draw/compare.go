package draw

import (
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/timeline"
)

// WriteComparison writes what each step took in two pods, and the difference.
func WriteComparison(w io.Writer, c *timeline.Comparison, o TextOptions) error {
	p := &page{width: max(o.Width, MinWidth), colour: o.Colour, language: c.Language}
	difference := p.language.Word("difference")
	var labels []string
	for _, s := range c.Steps {
		labels = append(labels, stepLabel(&s))
	}
	const columns = 3
	names := []string{plain.Line(c.A.Name), plain.Line(c.B.Name)}
	if c.A.Namespace != c.B.Namespace || c.A.Name == c.B.Name {
		names = []string{plain.Line(c.A.FullName()), plain.Line(c.B.FullName())}
	}
	column := 8 // a duration, and a space
	for _, n := range names {
		column = max(column, plain.Width(n)+2)
	}
	column = min(column, p.width*2/9)
	for _, l := range labels {
		p.labels = max(p.labels, plain.Width(l))
	}
	p.labels = min(p.labels, p.width-columns*max(column, plain.Width(difference)+2)-1)
	last := max(column, plain.Width(difference)+2)
	p.line(p.left("") + right(names[0], column) + right(names[1], column) + right(difference, last))
	for i, s := range c.Steps {
		colour, end := "", ""
		if p.colour && s.A != nil && s.B != nil && s.Difference().Abs() >= time.Millisecond {
			colour, end = failed, plainColour
			if s.Difference() < 0 {
				colour = looks[timeline.Up].colour
			}
		}
		p.line(p.left(labels[i]) + right(p.took(s.A), column) + right(p.took(s.B), column) + colour + right(differenceOf(&s), last) + end)
	}
	p.line("")
	p.wrapped(p.language.Word("* on the critical path of one of them; + the second took longer"), "  ")
	_, err := io.WriteString(w, p.text.String())
	return err
}

func stepLabel(s *timeline.Compared) string {
	if s.Critical {
		return plain.Line(s.Label) + " *"
	}
	return plain.Line(s.Label)
}

func (p *page) took(d *time.Duration) string {
	if d == nil {
		return p.language.Word("none")
	}
	return timeline.Took(*d)
}

func differenceOf(s *timeline.Compared) string {
	switch d := s.Difference(); {
	case s.A == nil || s.B == nil:
		return ""
	case d.Abs() < time.Millisecond:
		return "="
	case d > 0:
		return "+" + timeline.Took(d)
	default:
		return timeline.Took(d)
	}
}

// right is text at the right of a column; of one that is too long, the end.
func right(text string, column int) string {
	if over := plain.Width(text) - (column - 1); over > 0 {
		text = ansi.TruncateLeftWc(text, over+1, "…")
	}
	return strings.Repeat(" ", max(column-plain.Width(text), 0)) + text
}
