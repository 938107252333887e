package probe

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/command"
	"github.com/lifepod/lifepod/worker/environment"
)

// maxOutputBytes is how much of a command's output is kept.
const maxOutputBytes = 10 << 10

// exec runs a command in the container (A-PROBE-13).
func (a Attempt) exec(ctx context.Context, e *v1.ExecAction) Result {
	output, err := a.Commands.Run(ctx, command.Command{
		ContainerID: a.ContainerID, Args: environment.ExpandLiterally(e.Command, a.Container.Env), Timeout: a.timeout(),
	})
	text := string(output[:min(len(output), maxOutputBytes)])
	if held, ok := errors.AsType[*command.HeldError](err); ok {
		return ended(held, text)
	}
	if err == nil {
		return success(text)
	}
	if _, exited := errors.AsType[*command.ExitError](err); exited {
		return failure("%s", text)
	}
	if errors.Is(err, command.ErrTimedOut) {
		return failure("%v", err)
	}
	return errored(errors.New(cri.Text(err)))
}

// ended is the result of a command whose output was held open: its exit code is the answer (A-PROBE-13).
func ended(held *command.HeldError, text string) Result {
	if held.Err == nil {
		return Result{Outcome: lifecycle.ProbeWarning, Output: held.Error()}
	}
	return failure("%s (%v)", text, held)
}
