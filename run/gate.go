package run

import (
	"bytes"
	"io"
	"sync"

	"github.com/lifepod/lifepod/internal/sentence"
)

const (
	mostHeldLines = 10_000
	mostHeldBytes = 4 << 20
)

// Gate is a writer to a terminal. While it is shut it keeps what is written, the last lines of it, and
// writes that when it is opened.
type Gate struct {
	w        io.Writer
	language sentence.Language

	mu     sync.Mutex
	shut   bool
	kept   [][]byte // lines, the last one perhaps without its end
	bytes  int
	left   int // lines that were not kept
	failed error
}

// NewGate is a gate before w, and open.
func NewGate(w io.Writer, language sentence.Language) *Gate { return &Gate{w: w, language: language} }

// Write implements io.Writer.
func (g *Gate) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.failed != nil:
		return 0, g.failed
	case !g.shut:
		return g.w.Write(text)
	}
	for line := range bytes.Lines(text) {
		g.keep(line)
	}
	return len(text), nil
}

// keep keeps a line, or its next part.
func (g *Gate) keep(line []byte) {
	g.bytes += len(line)
	if n := len(g.kept); n > 0 && !bytes.HasSuffix(g.kept[n-1], []byte("\n")) {
		g.kept[n-1] = append(g.kept[n-1], line...)
	} else {
		g.kept = append(g.kept, bytes.Clone(line))
	}
	for len(g.kept) > mostHeldLines || g.bytes > mostHeldBytes && len(g.kept) > 1 {
		g.bytes -= len(g.kept[0])
		g.kept = g.kept[1:]
		g.left++
	}
}

// Shut keeps what comes, once what is being written is written.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// Open writes what was kept; from then on everything is written as it comes. If that fails, the next
// Write returns the error.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		return
	}
	if g.left > 0 {
		g.kept = append([][]byte{[]byte(g.language.Say("… %d earlier lines are left out; --plain shows all as they come", g.left) + "\n")}, g.kept...)
	}
	_, g.failed = g.w.Write(bytes.Join(g.kept, nil))
	g.shut, g.kept, g.bytes, g.left = false, nil, 0, 0
}

// Ended writes why the view has ended.
func (g *Gate) Ended(err error) {
	_, _ = g.Write([]byte(g.language.Say("warning: %s", g.language.Say("the live view has ended: %v", err)) + "\n"))
}
