package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
)

// waiting are the flags of commands that wait until what they have asked for is done.
type waiting struct {
	not     bool
	timeout time.Duration
	until   string
}

// errTimedOut ends a command with exit code 124.
var errTimedOut = errors.New("timed out")

// add gives a command the flags; until is what it waits for, in words.
func (w *waiting) add(command *cobra.Command, until string) {
	w.until = until
	command.Flags().BoolVar(&w.not, "no-wait", false, "do not wait until "+until)
	commandline.DurationVar(command.Flags(), &w.timeout, "timeout", 0, "give up waiting after this `duration` and exit with 124; what was asked for stays asked for")
}

// wait waits by a function, unless the user does not want to.
func (w *waiting) wait(ctx context.Context, by func(context.Context) error) error {
	if w.not {
		return nil
	}
	if w.timeout <= 0 {
		return by(ctx)
	}
	late := fmt.Errorf("%w after %v: stopped waiting until %s", errTimedOut, w.timeout, w.until)
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, late)
	defer cancel()
	err := by(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errTimedOut) {
		return late
	}
	return err
}
