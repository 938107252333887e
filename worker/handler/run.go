package handler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Command is a command in a container.
type Command struct {
	ContainerID string
	Args        []string
	Timeout     time.Duration // 0: none
	// Held is called once if the command's own process has ended, and is not answered because
	// another process, which by names, holds its output open. nil: nobody asks.
	Held func(by string)
}

// ErrTimedOut is in the error of a command whose timeout has passed.
var ErrTimedOut = errors.New("command timed out")

// ExitError says that the command has ended with a code other than 0.
type ExitError struct {
	Args   []string
	Code   int32
	Stderr []byte
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("command '%s' exited with %d: %s", strings.Join(e.Args, " "), e.Code, e.Stderr)
}

// HeldError says that the command has ended in time, and that a process which it left
// held its output open until the command's timeout, when that process was ended.
type HeldError struct {
	Timeout time.Duration
	Err     error // how the command has ended: nil, or an ExitError
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("the command has ended, but a process that it left held its output open for %s, and was ended", e.Timeout)
}

// Unwrap is how the command has ended.
func (e *HeldError) Unwrap() error { return e.Err }

// backstop is how much longer than lifepod the runtime waits before it ends a
// command by itself: it does so only if lifepod can't.
const backstop = 10 * time.Second

// heldTime is how long the runtime may take to answer when what held a command's output has ended.
const heldTime = 2 * time.Second

// Run waits for the command's end and gives its standard output followed by its
// standard error. The error is an ExitError, a HeldError, one that wraps ErrTimedOut,
// the cause of ctx, or the runtime's (cri.Text).
func (r *Runner) Run(ctx context.Context, command Command) ([]byte, error) {
	c := r.begin(command)
	defer r.forget(c)
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan struct{})
	var a answer // when answered is closed
	go func() {
		defer close(answered)
		a = c.call(call, r.runtime)
	}()
	if c.Held != nil {
		go r.watchHeld(call, c)
	}
	limited, stop := context.WithTimeoutCause(ctx, c.patience(), c.timedOut())
	defer stop()
	select {
	case <-answered:
		return a.output, a.err
	case <-limited.Done():
	}
	gaveUp := context.Cause(limited)
	hadEnded := r.end(ctx, c, cancel, answered)
	if hadEnded {
		wait(ctx, heldTime, answered)
	}
	cancel()
	<-answered // at once: the call is cancelled
	if hadEnded && errors.Is(gaveUp, ErrTimedOut) && a.isEnd() {
		return a.output, &HeldError{Timeout: c.Timeout, Err: a.err}
	}
	return nil, gaveUp
}

type answer struct {
	output []byte
	err    error
}

// isEnd says that the command has ended by itself.
func (a answer) isEnd() bool {
	_, exited := errors.AsType[*ExitError](a.err)
	return a.err == nil || exited
}

func (c Command) patience() time.Duration {
	if c.Timeout == 0 {
		return math.MaxInt64
	}
	return c.Timeout
}

func (c Command) timedOut() error {
	return fmt.Errorf("%w: %q timed out after %s", ErrTimedOut, strings.Join(c.Args, " "), c.Timeout)
}

func (c Command) call(ctx context.Context, runtime runtimeapi.RuntimeServiceClient) answer {
	request := &runtimeapi.ExecSyncRequest{ContainerId: c.ContainerID, Cmd: c.Args}
	if c.Timeout > 0 {
		request.Timeout = int64((c.Timeout + backstop) / time.Second)
	}
	r, err := runtime.ExecSync(ctx, request)
	if status.Code(err) == codes.DeadlineExceeded {
		return answer{err: c.timedOut()}
	}
	if err != nil {
		return answer{err: err}
	}
	a := answer{output: slices.Concat(r.Stdout, r.Stderr)}
	if r.ExitCode != 0 {
		a.err = &ExitError{Args: c.Args, Code: r.ExitCode, Stderr: r.Stderr}
	}
	return a
}

// Runner runs the commands of one pod's containers. Several may run at a time.
type Runner struct {
	runtime runtimeapi.RuntimeServiceClient

	mu        sync.Mutex               // guards all that follows
	underWay  []*running               // in the order in which they began
	beginning map[string]chan struct{} // closed when the session that begins in a container has begun, by container ID
}

// NewRunner makes a Runner on this runtime.
func NewRunner(runtime runtimeapi.RuntimeServiceClient) *Runner {
	return &Runner{runtime: runtime, beginning: map[string]chan struct{}{}}
}

// running is a command that runs.
type running struct {
	Command
	began  uint64 // as a process's start time
	ending bool   // it was given up; guarded by the Runner's mu
}

func (r *Runner) begin(c Command) *running {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := &running{Command: c, began: ticksNow()}
	r.underWay = append(r.underWay, began)
	return began
}

func (r *Runner) forget(c *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay = slices.DeleteFunc(r.underWay, func(o *running) bool { return o == c })
}

func (r *Runner) giveUp(c *running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.ending = true
}

// commandsBeside is what runs in the command's container: the same command, it
// included, in the order in which it began, whether all of these were given up,
// and the arguments of the others.
func (r *Runner) commandsBeside(c *running) (same []*running, allEnding bool, others [][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	allEnding = true
	for _, o := range r.underWay {
		switch {
		case o.ContainerID != c.ContainerID:
		case slices.Equal(o.Args, c.Args):
			same = append(same, o)
			allEnding = allEnding && o.ending
		default:
			others = append(others, o.Args)
		}
	}
	return same, allEnding, others
}
