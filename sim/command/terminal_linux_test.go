package command

import (
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
)

// What a viewer opens is not written to a terminal.
func TestPicturesAreNotForATerminal(t *testing.T) {
	ours, theirs, err := terminal.Open()
	assert.Must(t, err)
	defer ours.Close()
	defer theirs.Close()
	for _, format := range []string{"svg", "html"} {
		code := 0
		c := New(&code)
		c.SilenceUsage, c.SilenceErrors = true, true
		c.SetOut(theirs)
		c.SetArgs([]string{examples + "hello.yaml", "-o", format})
		err := c.ExecuteContext(t.Context())
		want := "-o " + format + " is not for a terminal"
		assert.True(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
	}
}
