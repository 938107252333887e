package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/lifecycle"
)

// HookRun is one run of a hook.
type HookRun struct {
	Commands    *Runner // the pod's, for exec
	Log         *slog.Logger
	Handler     *v1.LifecycleHandler
	Pod         *v1.Pod
	Container   *v1.Container // whose ports the handler may name
	ContainerID string
	PodIP       string          // where httpGet goes unless it names a host; may be empty
	Held        func(by string) // see command.Command
}

// HookError is why a hook failed, in the words of the waiting reason
// PostStartHookError (A-HOOK-1). Err is what it wraps.
type HookError struct {
	text string
	Err  error
}

func (e *HookError) Error() string { return e.text }

// Unwrap is the cause.
func (e *HookError) Unwrap() error { return e.Err }

// unawaited is how long a hook may go on after its deadline. Its container is
// killed long before; what still hangs then is the call.
const unawaited = 10 * time.Minute

// Await runs the hook and waits for its end, but no longer than to the deadline,
// if there is one: the hook goes on in the container then, and the error is
// context.DeadlineExceeded (B-HOOK-2). Ending ctx before ends the hook.
func (r HookRun) Await(ctx context.Context, deadline time.Time) ([]lifecycle.Warning, error) {
	if deadline.IsZero() {
		return r.made(ctx, deadline)
	}
	// the hook's own context, which ctx ends only as long as the hook is awaited
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	ended := make(chan outcome, 1)
	go func() {
		defer cancel(nil)
		warnings, err := r.made(own, deadline)
		ended <- outcome{warnings, err}
	}()
	select {
	case o := <-ended:
		return o.warnings, o.err
	case <-time.After(time.Until(deadline)):
		release()
		time.AfterFunc(unawaited, func() { cancel(context.DeadlineExceeded) })
		return nil, context.DeadlineExceeded
	}
}

type outcome struct {
	warnings []lifecycle.Warning
	err      error
}

// lackRetry is the pause before a hook is run that this machine could not run (A-HOOK-7).
const lackRetry = 500 * time.Millisecond

// made runs the hook as soon as this machine has what it takes to run it, if that is before the deadline.
func (r HookRun) made(ctx context.Context, deadline time.Time) ([]lifecycle.Warning, error) {
	for {
		warnings, err := r.run(ctx)
		if !cri.Lacking(err) || !deadline.IsZero() && !time.Now().Add(lackRetry).Before(deadline) {
			return warnings, err
		}
		r.Log.Warn("lifecycle hook: this machine can't run it", "container", r.Container.Name, "err", err, "again", lackRetry)
		select {
		case <-time.After(lackRetry):
		case <-ctx.Done():
			return warnings, err
		}
	}
}

func (r HookRun) run(ctx context.Context) ([]lifecycle.Warning, error) {
	switch h := r.Handler; {
	case h.Exec != nil:
		return nil, r.exec(ctx, h.Exec)
	case h.HTTPGet != nil:
		return r.httpGet(ctx, h.HTTPGet)
	case h.Sleep != nil:
		return nil, r.sleep(ctx, h.Sleep)
	}
	err := fmt.Errorf("invalid handler: %v", r.Handler)
	return nil, &HookError{text: fmt.Sprintf("Cannot run handler: %v", err), Err: err}
}

// exec runs the command as it is written, without a timeout (A-HOOK-2, B-HOOK-5).
func (r HookRun) exec(ctx context.Context, e *v1.ExecAction) error {
	output, err := r.Commands.Run(ctx, Command{ContainerID: r.ContainerID, Args: e.Command, Held: r.Held})
	if err == nil {
		return nil
	}
	return r.failed("Exec", err, fmt.Sprintf("(%v)", e.Command), fmt.Sprintf(", message: %q", output))
}

// sleep waits; 0 seconds are allowed (A-HOOK-5).
func (r HookRun) sleep(ctx context.Context, s *v1.SleepAction) error {
	select {
	case <-time.After(time.Duration(s.Seconds) * time.Second):
		return nil
	case <-ctx.Done():
		return r.failed("Sleep", errors.New("container terminated before sleep hook finished"), fmt.Sprintf("(%d)", s.Seconds), "")
	}
}

func (r HookRun) failed(kind string, err error, what, more string) *HookError {
	return &HookError{Err: err, text: fmt.Sprintf("%s lifecycle hook %s for Container %q in Pod %q failed - error: %s%s",
		kind, what, r.Container.Name, lifecycle.PodText(r.Pod), cri.Text(err), more)}
}
