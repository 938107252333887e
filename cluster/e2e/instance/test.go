package instance

import (
	"context"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// New starts one, of the program of a package below cluster/e2e if it says no other. It ends with the
// test, which shows its log if it fails.
func New(t *testing.T, c Config) *Instance {
	t.Helper()
	if c.Program == "" {
		program := assert.Get(Program("../../..")).Must(t)
		c.Program = program
	}
	ctx, cancel := context.WithTimeout(t.Context(), machine.Patience)
	defer cancel()
	i := assert.Get(Start(ctx, c)).Must(t)
	assert.AtEnd(t, func() error {
		if t.Failed() {
			t.Logf("%s:\n%s", i.Name, i.Log())
		}
		return i.Close(context.Background())
	})
	return i
}
