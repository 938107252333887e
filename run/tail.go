package run

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/lifepod/lifepod/internal/plain"
)

const (
	mostShownLines = 2000    // that are kept of one container, or of the pod's story
	mostShownBytes = 1 << 20 // of them
	longest        = 4 << 10 // bytes of a line that are shown
	tabStop        = 8
)

// tail is the last lines that somebody wrote.
type tail struct {
	lines []string // harmless
	bytes int
}

func (t *tail) add(line string) {
	if len(line) > longest {
		line = ansi.TruncateWc(line, longest/4, "…")
	}
	t.lines = append(t.lines, line)
	t.bytes += len(line)
	for len(t.lines) > mostShownLines || t.bytes > mostShownBytes {
		t.bytes -= len(t.lines[0])
		t.lines = t.lines[1:]
	}
}

// last is at most n of them.
func (t *tail) last(n int) []string { return t.lines[max(len(t.lines)-max(n, 0), 0):] }

// writer is one stream of a container, whose lines come in pieces.
type writer struct {
	output plain.Output
	begun  string // a line without its end
}

// lines are those that a piece completes, harmless.
func (w *writer) lines(piece string, colour bool) []string {
	text := w.begun + w.output.Text(piece)
	all := strings.Split(text, "\n")
	w.begun = all[len(all)-1]
	all = all[:len(all)-1]
	if len(w.begun) > longest {
		all, w.begun = append(all, w.begun), ""
	}
	for i := range all {
		all[i] = expand(strings.TrimSuffix(all[i], "\r"))
		if !colour {
			all[i] = ansi.Strip(all[i])
		}
	}
	return all
}

// expand puts spaces for tabs.
func expand(line string) string {
	var out strings.Builder
	column := 0
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			spaces := tabStop - column%tabStop
			out.WriteString(strings.Repeat(" ", spaces))
			column += spaces
		}
		out.WriteString(part)
		column += ansi.StringWidthWc(part)
	}
	return out.String()
}
