package e2e

import (
	"context"

	"github.com/lifepod/lifepod/e2e/terminal"
)

// onTerminal starts kubectl on a terminal.
func (s space) onTerminal(args ...string) *terminal.Terminal {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	return terminal.Start(s.t, s.command(ctx, args...))
}
