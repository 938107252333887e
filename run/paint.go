package run

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lifepod/lifepod/internal/plain"
)

// tone is what a text means: the mark before it, and its colour.
type tone struct {
	mark   string
	colour plain.Tone
}

var (
	good   = tone{"●", plain.Good}
	done   = tone{"✓", plain.Good}
	busy   = tone{"◐", plain.Busy}
	bad    = tone{"✗", plain.Bad}
	quiet  = tone{"○", plain.Quiet}
	strong = tone{"", plain.Strong}
	faint  = tone{"", plain.Faint}
)

// paint colours a text, if there are colours.
func (v page) paint(t tone, text string) string { return t.colour.Paint(v.colour, text) }

func harmless(text string) string { return plain.Line(text) }

// fit cuts a text to so many columns.
func fit(text string, columns int) string { return ansi.TruncateWc(text, max(columns, 0), "…") }

// pad is a text of exactly so many columns.
func pad(text string, columns int) string {
	text = fit(text, columns)
	return text + strings.Repeat(" ", max(columns-ansi.StringWidthWc(text), 0))
}

// wrap breaks a text into lines of at most so many columns; those after the first begin with an indent.
func wrap(text string, columns int, indent string) []string {
	lines := strings.Split(ansi.WrapWc(text, max(columns-len(indent), 1), ""), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = indent + lines[i]
	}
	return lines
}

// bar is a share drawn in so many columns.
func (v page) bar(share float64, columns int) string {
	full := min(max(int(share*float64(columns)+0.5), 0), columns)
	return strings.Repeat("█", full) + v.paint(faint, strings.Repeat("░", columns-full))
}
