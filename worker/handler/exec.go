package handler

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// maxOutputBytes is how much of a command's output is kept.
const maxOutputBytes = 10 << 10

// exec runs a command in the container (A-PROBE-13).
func (a ProbeAttempt) exec(ctx context.Context, e *v1.ExecAction) ProbeResult {
	output, err := a.Commands.Run(ctx, Command{
		ContainerID: a.ContainerID, Args: criconfig.ExpandLiterally(e.Command, a.Container.Env), Timeout: a.timeout(),
	})
	text := string(output[:min(len(output), maxOutputBytes)])
	if held, ok := errors.AsType[*HeldError](err); ok {
		return ended(held, text)
	}
	if err == nil {
		return success(text)
	}
	if _, exited := errors.AsType[*ExitError](err); exited {
		return failure("%s", text)
	}
	if errors.Is(err, ErrTimedOut) {
		return failure("%v", err)
	}
	return errored(errors.New(cri.Text(err)))
}

// ended is the result of a command whose output was held open: its exit code is the answer (A-PROBE-13).
func ended(held *HeldError, text string) ProbeResult {
	if held.Err == nil {
		return ProbeResult{Outcome: lifecycle.ProbeWarning, Output: held.Error()}
	}
	return failure("%s (%v)", text, held)
}
