package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/run"
)

// errInterrupted ends a command with exit code 130.
var errInterrupted = errors.New("interrupted")

// ownsSignals marks a command that turns signals into something else than its
// own end: run ends its pod.
const ownsSignals = "lifepod.dev/owns-signals"

// cancelOnSignal ends the context of a command with the first Ctrl-C, TERM or
// hangup, so that it closes what it has opened; what follows is bounded, and
// further signals are ignored. It is for a root's PersistentPreRun.
func cancelOnSignal(command *cobra.Command, _ []string) {
	if command.Name() == cobra.ShellCompRequestCmd {
		for _, c := range command.Root().Commands() {
			c.Flags().SetInterspersed(true) // flags behind the pod are completed, too
		}
	}
	if command.Annotations[ownsSignals] != "" {
		return
	}
	// Never stopped: the handler goes with the process.
	ctx, _ := signal.NotifyContext(command.Context(), commandline.EndSignals()...)
	command.SetContext(ctx)
}

// interruptible has commands end with errInterrupted once a signal has ended them, whatever they say then.
func interruptible(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		do := c.RunE
		c.RunE = func(command *cobra.Command, args []string) error {
			return interrupted(command.Context(), do(command, args))
		}
	}
	return commands
}

// interrupted turns the end of a command's context into what its exit code is made of.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// exitCode says on stderr what went wrong, and how the process ends: with code
// if nothing did.
func exitCode(stderr io.Writer, err error, code int) int {
	switch {
	case err == nil:
		return code
	case errors.Is(err, errChecksFailed):
		return 1
	case errors.Is(err, errNotChecked):
		return 2
	}
	fmt.Fprintf(stderr, "%s %s\n", plain.Bad.Paint(plain.Colours(stderr), "lifepod:"), plain.Text(err.Error()))
	switch {
	case errors.Is(err, errInterrupted):
		return run.ExitInterrupted
	case errors.Is(err, errTimedOut):
		return run.ExitTimeout
	}
	if _, lost := errors.AsType[*client.LostError](err); lost {
		return run.ExitLost
	}
	return run.ExitError
}
