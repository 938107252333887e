package agent

import (
	"context"

	"github.com/lifepod/lifepod/e2e/terminal"
)

// onTerminal starts kubectl on a terminal.
func (c *cluster) onTerminal(args ...string) *terminal.Terminal {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return terminal.Start(c.t, plane.KubectlCommand(ctx, append([]string{"--namespace", c.namespace}, args...)...))
}
