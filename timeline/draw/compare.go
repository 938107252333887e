package draw

import (
	"fmt"
	"io"
	"time"

	"github.com/lifepod/lifepod/timeline"
)

// WriteComparison writes what each step took in two pods, and the difference.
func WriteComparison(w io.Writer, c *timeline.Comparison, o TextOptions) error {
	p := &page{width: max(o.Width, MinWidth), colour: o.Colour}
	var labels []string
	for _, s := range c.Steps {
		labels = append(labels, stepLabel(&s))
	}
	const columns = 3
	names := []string{timeline.Line(c.A.Name), timeline.Line(c.B.Name)}
	if c.A.Namespace != c.B.Namespace || c.A.Name == c.B.Name {
		names = []string{timeline.Line(c.A.FullName()), timeline.Line(c.B.FullName())}
	}
	column := 8 // a duration, and a space
	for _, n := range names {
		column = max(column, len([]rune(n))+2)
	}
	column = min(column, p.width*2/9)
	for _, l := range labels {
		p.labels = max(p.labels, len([]rune(l)))
	}
	p.labels = min(p.labels, p.width-columns*max(column, len("difference")+2)-1)
	last := max(column, len("difference")+2)
	p.line(p.left("") + right(names[0], column) + right(names[1], column) + right("difference", last))
	for i, s := range c.Steps {
		colour, end := "", ""
		if p.colour && s.A != nil && s.B != nil && s.Difference().Abs() >= time.Millisecond {
			colour, end = failed, plainColour
			if s.Difference() < 0 {
				colour = looks[timeline.Up].colour
			}
		}
		p.line(p.left(labels[i]) + right(took(s.A), column) + right(took(s.B), column) + colour + right(difference(&s), last) + end)
	}
	p.line("")
	p.wrapped("* on the critical path of one of them; + the second took longer", "  ")
	_, err := io.WriteString(w, p.text.String())
	return err
}

func stepLabel(s *timeline.Compared) string {
	if s.Critical {
		return timeline.Line(s.Label) + " *"
	}
	return timeline.Line(s.Label)
}

func took(d *time.Duration) string {
	if d == nil {
		return "none"
	}
	return timeline.Took(*d)
}

func difference(s *timeline.Compared) string {
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
	if runes := []rune(text); len(runes) > column-1 {
		text = "…" + string(runes[len(runes)-column+2:])
	}
	return fmt.Sprintf("%*s", column, text)
}
