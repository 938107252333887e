package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/run"
	"github.com/lifepod/lifepod/unattended"
)

func newStopCommand(g *global) *cobra.Command {
	var on *onPod
	var grace *time.Duration
	var force bool
	var wait waiting
	command := &cobra.Command{
		Use:   "stop [flags] POD",
		Short: "End a pod gracefully, and wait until nothing is left of it",
		Long: `End a pod gracefully, and wait until nothing is left of it.

Containers get their stop signal and the pod's grace. A pod that is ending can
be given less at any moment, which takes effect at once: stop it again with a
shorter --grace, or with --force.`,
		Args: onePod,
		RunE: func(command *cobra.Command, args []string) error {
			seconds, err := graceSeconds(grace, force)
			if err != nil {
				return err
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			var left *client.UnattendedError
			if errors.As(err, &left) && left.Command == unattended.Run {
				return g.stopUnattended(command, left.Pod, control.StopRequest(seconds), &wait)
			}
			if err == nil {
				err = pod.Stop(ctx, seconds)
			}
			if err == nil {
				err = wait.wait(ctx, pod.Wait)
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	commandline.GraceVar(command.Flags(), &grace)
	command.Flags().BoolVar(&force, "force", false, "kill at once: no hooks, no signal, as --grace 0")
	wait.add(command, "the pod is gone")
	return command
}

// stopUnattended ends a pod whose lifepod run was killed, instead of that run.
func (g *global) stopUnattended(command *cobra.Command, pod unattended.Pod, request lifecycle.StopRequested, wait *waiting) error {
	if wait.not {
		return fmt.Errorf("pod %s is unattended, and this command has to end it itself: leave --no-wait out", pod.FullName())
	}
	log, err := g.logger()
	if err != nil {
		return err
	}
	return wait.wait(command.Context(), func(ctx context.Context) error {
		return run.End(ctx, pod, request, log, command.ErrOrStderr())
	})
}

// graceSeconds is what --grace and --force ask for; nil is the pod's own grace. Parts of a second count as one.
func graceSeconds(grace *time.Duration, force bool) (*int64, error) {
	switch {
	case force && grace != nil:
		return nil, errors.New("--grace and --force exclude each other: --force is --grace 0")
	case force:
		return new(int64), nil
	case grace == nil:
		return nil, nil
	}
	return new(int64((*grace + time.Second - 1) / time.Second)), nil
}
