package sim

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/lifepod/lifepod/internal/plain"
)

// around is how many lines are shown before and after those that differ.
const around = 2

// Write writes what differs: milestones of the first life only (-), of the second only (+), of
// both at another time (~), with some of those around them; then the figures that differ.
func (c *Comparison) Write(out io.Writer) error {
	b := &strings.Builder{}
	if c.Same() {
		fmt.Fprintf(b, "%s and %s live alike.\n", plain.Line(c.A), plain.Line(c.B))
		_, err := io.WriteString(out, b.String())
		return err
	}
	fmt.Fprintf(b, "- %s\n+ %s\n\n", plain.Line(c.A), plain.Line(c.B))
	leftOut := false
	for i := range c.Lines {
		if !c.shown(i) {
			leftOut = true
			continue
		}
		if leftOut {
			fmt.Fprintln(b, "  …")
		}
		leftOut = false
		fmt.Fprintln(b, c.Lines[i].String())
	}
	if leftOut {
		fmt.Fprintln(b, "  …")
	}
	table := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table)
	for _, f := range c.Figures {
		if f.A != f.B {
			fmt.Fprintf(table, "%s\t%s → %s\n", plain.Line(f.Name), f.A, f.B)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// shown says whether a line differs, or is near one that does.
func (c *Comparison) shown(i int) bool {
	for near := max(0, i-around); near <= min(len(c.Lines)-1, i+around); near++ {
		if !c.Lines[near].Same() {
			return true
		}
	}
	return false
}

func (l *ComparedLine) String() string {
	switch {
	case l.Same():
		return fmt.Sprintf("  +%.3fs %s", *l.A, l.Text)
	case l.B == nil:
		return fmt.Sprintf("- +%.3fs %s", *l.A, l.Text)
	case l.A == nil:
		return fmt.Sprintf("+ +%.3fs %s", *l.B, l.Text)
	}
	return fmt.Sprintf("~ +%.3fs → +%.3fs %s", *l.A, *l.B, l.Text)
}
