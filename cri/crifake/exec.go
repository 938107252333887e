package crifake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// command is what a command in a container does.
type command struct {
	code     int32
	out, err string
	after    time.Duration
	hangs    bool
	fails    string // it can't be run
}

// Command says what the commands do that are run in a container, the first, the
// second and so on; the last text holds for all that follow, and a container of
// which nothing is said runs them all with success. The container is named
// alone, or as pod/container. The words of a text are
//
//	exit=N    its exit code
//	out=T     what it writes to its standard output; _ stands for a space
//	err=T     and to its standard error
//	after=D   how long it takes
//	hang      it ends with its container, or when it is given up
//	error=T   the runtime can't run it
//
// A text that can't be read panics: it is part of a test.
func (r *Runtime) Command(container string, texts ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands[container] = nil
	for _, text := range texts {
		r.commands[container] = append(r.commands[container], parseCommand(text))
	}
}

func parseCommand(text string) (c command) {
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		spaced := strings.ReplaceAll(value, "_", " ")
		var err error
		switch key {
		case "exit":
			err = parseExitCode(&c.code, value)
		case "out":
			c.out = spaced
		case "err":
			c.err = spaced
		case "after":
			c.after, err = time.ParseDuration(value)
		case "hang":
			c.hangs = true
		case "error":
			c.fails = spaced
		default:
			err = fmt.Errorf("there is no word %q", word)
		}
		if err != nil {
			panic(fmt.Sprintf("crifake: command %q: %v", text, err))
		}
	}
	return c
}

// ExecSync runs a command in a container that runs.
func (r *Runtime) ExecSync(ctx context.Context, in *runtimeapi.ExecSyncRequest, _ ...callOption) (answer *runtimeapi.ExecSyncResponse, err error) {
	err = r.do(ctx, call{
		rpc: "ExecSync", subject: r.subjectOf(in.ContainerId), detail: strings.Join(in.Cmd, " "),
		effect: func(ctx context.Context) error {
			r.mu.Lock()
			c := r.container(in.ContainerId)
			if c == nil {
				r.mu.Unlock()
				return notFound(in.ContainerId)
			}
			if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
				r.mu.Unlock()
				return status.Errorf(codes.Unknown, "failed to exec in container: container is in %s state", c.state)
			}
			runs, down := r.nextCommand(c, in.Cmd), r.down
			r.mu.Unlock()
			answer, err = c.runCommand(ctx, runs, in.Timeout, down)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// runCommand is the command's life; needs that mu is not held.
func (c *container) runCommand(ctx context.Context, runs command, timeoutSeconds int64, down <-chan struct{}) (*runtimeapi.ExecSyncResponse, error) {
	if runs.fails != "" {
		return nil, status.Error(codes.Unknown, "failed to exec in container: "+runs.fails)
	}
	takes, limit := runs.after, forever
	if runs.hangs {
		takes = forever
	}
	if timeoutSeconds > 0 {
		limit = time.Duration(timeoutSeconds) * time.Second
	}
	ends, kill := time.NewTimer(takes), time.NewTimer(limit)
	defer ends.Stop()
	defer kill.Stop()
	select {
	case <-ends.C:
		return &runtimeapi.ExecSyncResponse{Stdout: []byte(runs.out), Stderr: []byte(runs.err), ExitCode: runs.code}, nil
	case <-c.exited:
		return &runtimeapi.ExecSyncResponse{ExitCode: 137}, nil
	case <-kill.C:
		return nil, status.Errorf(codes.DeadlineExceeded, "failed to exec in container: timeout %v exceeded: context deadline exceeded", limit)
	case <-down:
		return nil, errBroken
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// nextCommand is what the next command in the container does: as Command said,
// or as its arguments say, for which the words of a text stand after "command";
// needs mu.
func (r *Runtime) nextCommand(c *container, args []string) command {
	if r.play != nil {
		return r.playedCommand(c)
	}
	if runs, is := next(r.commands, c); is {
		return runs
	}
	if args[0] == "command" {
		return parseCommand(strings.Join(args[1:], " "))
	}
	return command{}
}
