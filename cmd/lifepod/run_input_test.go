package main

import (
	"io"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestWritten: a terminal that has given a line before a session began gives the session its end.
func TestWritten(t *testing.T) {
	w := &written{Writer: io.Discard}
	_ = assert.Get(io.WriteString(w, "\r\n")).Must(t)
	assert.True(t, !w.any, "the end of a line counts as output")
	_ = assert.Get(io.WriteString(w, "done\r\n")).Must(t)
	assert.True(t, w.any, "a line does not count as output")
}
