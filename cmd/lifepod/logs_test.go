package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/lifepod/lifepod/internal/assert"
)

// The error of a log that breaks off begins a line of its own; a log that ends in
// order is passed on as it is.
func TestCopyLines(t *testing.T) {
	broken := iotest.ErrReader(errors.New("gone"))
	for _, tc := range []struct {
		log  io.Reader
		want string
		err  string
	}{
		{strings.NewReader("x"), "x", ""},
		{io.MultiReader(strings.NewReader("x\ny"), broken), "x\ny\n", "the log ended early: gone"},
		{io.MultiReader(strings.NewReader("x\n"), broken), "x\n", "the log ended early: gone"},
		{broken, "", "the log ended early: gone"},
	} {
		var got strings.Builder
		err := copyLines(&got, tc.log)
		assert.True(t, got.String() == tc.want && (err == nil) == (tc.err == "") && (err == nil || err.Error() == tc.err),
			"%q, %v; want %q, %s", got.String(), err, tc.want, tc.err)
	}
}
