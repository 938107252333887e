package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
)

func newAttachCommand(g *global, code *int) *cobra.Command {
	var on *onPod
	var s sessionFlags
	command := &cobra.Command{
		Use:   "attach [flags] POD",
		Short: "Join the standard streams of a container's own process",
		Long: `Join the standard streams of a container's own process.

What it wrote before is in lifepod logs. The container runs on when lifepod
attach is ended; when the container ends, its exit code becomes lifepod's. With -i
the container's spec must say stdin: true.`,
		Args: onePod,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err != nil {
				return err
			}
			*code, err = s.attachToEnd(command, pod, s.choose(command, pod))
			return err
		},
	}
	on = g.onPodCommand(command)
	s.add(command)
	return command
}

// endPatience is how long a container whose streams have ended may take until its end
// is known. One that runs on then has only lost this connection, as at the end of the
// input.
const endPatience = 2 * time.Second

// attachToEnd joins a container's streams, and returns its exit code if they have ended
// with it.
func (s *sessionFlags) attachToEnd(command *cobra.Command, pod *client.Pod, container string) (int, error) {
	container = cmp.Or(container, control.DefaultContainer(pod.Pod))
	ctx, cancel := context.WithCancelCause(command.Context())
	defer cancel(nil)
	type end struct {
		code int32
		err  error
	}
	ended := make(chan end, 1)
	if status := control.StatusOf(pod.Pod, container); status != nil { // else attach says what is wrong
		go func() { // from now on: the pod may be gone soon after
			code, err := pod.AwaitEnd(ctx, container, status.RestartCount)
			ended <- end{code, err}
		}()
	}
	if err := s.attach(command, pod, container); err != nil {
		return 0, err
	}
	select {
	case e := <-ended:
		return int(e.code), e.err
	case <-time.After(endPatience):
		return 0, nil
	}
}

// attach joins a container's streams. Whether there is a terminal is the
// container's choice.
func (s *sessionFlags) attach(command *cobra.Command, pod *client.Pod, container string) error {
	tty, _ := control.TerminalOf(pod.Pod, container)
	if s.tty && !tty {
		warn(command.ErrOrStderr(), "-t has no effect: container %s has no terminal, its spec does not say tty: true", container)
	}
	streams, restore := s.streams(command, tty && s.tty)
	defer restore()
	streams.TTY = tty
	return pod.Attach(command.Context(), container, streams)
}
