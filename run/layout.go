package run

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/run/story"
)

// item is something to write: output of a container, a line of lifepod's own,
// or the countdown.
type item struct {
	text   string
	source *source // of a container's output
	redraw bool    // text is a countdown, or pulls, a line each, which the next item takes the place of
	mark   mark    // of a container's output: to be remembered as shown
}

// source is one stream of one instance of a container.
type source struct {
	container string
	prefix    string       // begins its lines in place of the container's name; empty: the pod is the only one
	shown     plain.Output // on a terminal
}

// layout keeps what comes from several sources apart in one stream.
type layout struct {
	// immutable
	prefixed bool // output lines begin with their source's prefix

	open  *source // whose line that is
	drawn int     // lines of a countdown or of pulls that stand there
}

const (
	eraseLine = "\r\x1b[K"
	// eraseAbove goes to the line before, and erases that.
	eraseAbove = "\x1b[A\x1b[K"
)

// add appends to text what an item looks like after all that came before it.
func (l *layout) add(text []byte, it item) []byte {
	if l.drawn > 0 {
		text = append(append(text, eraseLine...), strings.Repeat(eraseAbove, l.drawn-1)...)
		l.drawn = 0
	}
	if it.text == "" {
		return text
	}
	if l.interrupts(it) {
		text = append(text, '\n')
		l.open = nil
	}
	if l.prefixed && it.source != nil && l.open == nil {
		text = append(append(text, cmp.Or(it.source.prefix, it.source.container)...), story.Separator...)
	}
	text = append(text, it.text...)
	if it.redraw {
		l.drawn = 1 + strings.Count(it.text, "\n")
	}
	l.open = nil
	if it.source != nil && !bytes.HasSuffix(text, []byte("\n")) {
		l.open = it.source
	}
	return text
}

// interrupts says that an item needs a line of its own, where another has no
// newline yet. What one source writes goes out as it came.
func (l *layout) interrupts(it item) bool { return l.open != nil && l.open != it.source }
