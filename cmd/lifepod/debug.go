package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/lifepod/lifepod/control/client"
)

// debugFlags are those of lifepod debug.
type debugFlags struct {
	name, image, target string
	session             sessionFlags
	detach              bool
}

func newDebugCommand(g *global, code *int) *cobra.Command {
	var on *onPod
	f := &debugFlags{}
	command := &cobra.Command{
		Use:   "debug [flags] POD --image IMAGE [-- COMMAND [ARGUMENT…]]",
		Short: "Put an ephemeral container into a running pod, to look into it",
		Long: `Put an ephemeral container into a running pod, to look into it, and attach to it.

It is in the pod's network, and with --target it sees that container's processes.
It cannot be removed: it is there until the pod ends. Its exit code becomes
lifepod's.`,
		Args: func(command *cobra.Command, args []string) error {
			if dash := command.ArgsLenAtDash(); dash != 1 && (dash >= 0 || len(args) != 1) || args[0] == "" {
				return errors.New("want one pod: lifepod debug [flags] POD --image IMAGE [-- COMMAND [ARGUMENT…]]")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			if f.image == "" {
				return errors.New("--image is missing: which image has the tools?")
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err == nil {
				*code, err = f.debug(command, pod, args[1:])
			}
			return interrupted(ctx, err)
		},
	}
	on = g.onPodCommand(command)
	flags := command.Flags()
	flags.StringVar(&f.image, "image", "", "the ephemeral container's `image`")
	flags.StringVar(&f.target, "target", "", "see the processes of this `container`")
	flags.StringVar(&f.name, "name", "", "`name` of the ephemeral container, else debugger-…")
	flags.BoolVarP(&f.session.stdin, "stdin", "i", false, "pass standard input on")
	flags.BoolVarP(&f.session.tty, "tty", "t", false, "with a terminal")
	flags.BoolVarP(&f.detach, "detach", "d", false, "do not attach: only say the container's name")
	return command
}

// container is the ephemeral container that was asked for.
func (f *debugFlags) container(arguments []string) *v1.EphemeralContainer {
	name := f.name
	if name == "" {
		name = "debugger-" + rand.String(5)
	}
	return &v1.EphemeralContainer{
		EphemeralContainerCommon: v1.EphemeralContainerCommon{
			Name: name, Image: f.image, Command: arguments, Stdin: f.session.stdin, TTY: f.session.tty,
		},
		TargetContainerName: f.target,
	}
}

// debug adds the container, joins it, and returns its exit code.
func (f *debugFlags) debug(command *cobra.Command, pod *client.Pod, arguments []string) (int, error) {
	ctx, c := command.Context(), f.container(arguments)
	changed, err := pod.AddEphemeralContainer(ctx, c)
	if err != nil {
		return 0, err
	}
	command.PrintErrf("ephemeral container %s\n", c.Name)
	if f.detach {
		return 0, nil
	}
	pod.Pod = changed
	told := ""
	state, err := pod.AwaitStart(ctx, c.Name, func(w *v1.ContainerStateWaiting) {
		if text := strings.TrimSpace(w.Reason + " " + w.Message); text != told && w.Reason != "ContainerCreating" {
			told = text
			command.PrintErrf("waiting: %s\n", text)
		}
	})
	if err != nil {
		return 0, err
	}
	if state.Terminated == nil && f.session.stdin {
		if f.session.tty {
			command.PrintErrln("attached; press Enter if no prompt shows")
		}
		err = f.session.attach(command, pod, c.Name)
	} else {
		err = copyLog(ctx, pod, client.LogOptions{Container: c.Name, Follow: true, Tail: -1}, command.OutOrStdout())
	}
	if err != nil {
		return 0, err
	}
	return exitOf(ctx, pod, c.Name)
}

// exitOf is the exit code of a container that has ended, or is about to.
func exitOf(ctx context.Context, pod *client.Pod, container string) (int, error) {
	exit, err := pod.AwaitExit(ctx, container)
	return int(exit), err
}
