package main

import (
	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
)

func newAttachCommand(g *global) *cobra.Command {
	var on *onPod
	var s sessionFlags
	command := &cobra.Command{
		Use:   "attach [flags] POD",
		Short: "Join the standard streams of a container's own process",
		Long: `Join the standard streams of a container's own process.

What it wrote before is in lifepod logs. The container runs on when lifepod
attach is ended. With -i the container's spec must say stdin: true.`,
		Args: onePod,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err != nil {
				return interrupted(ctx, err)
			}
			return interrupted(ctx, s.attach(command, pod, s.choose(command, pod)))
		},
	}
	on = g.onPodCommand(command)
	s.add(command)
	return command
}

// attach joins a container's streams. Whether there is a terminal is the
// container's choice.
func (s *sessionFlags) attach(command *cobra.Command, pod *client.Pod, container string) error {
	if container == "" {
		container = control.DefaultContainer(pod.Pod)
	}
	tty, _ := control.TerminalOf(pod.Pod, container)
	if s.tty && !tty {
		warn(command.ErrOrStderr(), "-t has no effect: container %s has no terminal, its spec does not say tty: true", container)
	}
	streams, restore := s.streams(command, tty && s.tty)
	defer restore()
	streams.TTY = tty
	return pod.Attach(command.Context(), container, streams)
}
