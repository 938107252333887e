package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/plain"
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
	var words []string
	command := &cobra.Command{
		Use:   "debug [flags] POD --image IMAGE [[--] COMMAND [ARGUMENT…]]",
		Short: "Put an ephemeral container into a running pod, to look into it",
		Long: `Put an ephemeral container into a running pod, to look into it, and attach to it.

It is in the pod's network, and with --target it sees that container's processes.
It cannot be removed: it is there until the pod ends. Its exit code becomes
lifepod's.`,
		Args: func(command *cobra.Command, args []string) (err error) {
			words, err = behindPod(command, args)
			return err
		},
		RunE: func(command *cobra.Command, args []string) error {
			if f.image == "" {
				return errors.New("--image is missing: which image has the tools?")
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err == nil {
				*code, err = f.debug(command, pod, words)
			}
			return err
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
	flags.SetInterspersed(false)
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
			StdinOnce: f.session.stdin && !f.session.tty, // the end of a pipe is the end of its input
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
	state, err := awaitStart(command, pod, c.Name)
	if err != nil {
		return 0, err
	}
	if err := f.session.join(command, pod, c.Name, state.Running != nil); err != nil {
		return 0, err
	}
	exit, err := pod.AwaitEnd(ctx, c.Name, 0)
	return int(exit), err
}

// awaitStart waits until a container runs or has run, and says what it waits for.
func awaitStart(command *cobra.Command, pod *client.Pod, container string) (v1.ContainerState, error) {
	printed := ""
	return pod.AwaitStart(command.Context(), container, func(w *v1.ContainerStateWaiting) {
		if text := strings.TrimSuffix(w.Reason+": "+w.Message, ": "); text != printed && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			printed = text
			command.PrintErrf("waiting: %s\n", plain.Line(cri.Reason(text)))
		}
	})
}

// join connects the user with the container until it ends. Without a terminal
// its output is read from its log, in which nothing is missing that it wrote
// before.
func (s *sessionFlags) join(command *cobra.Command, pod *client.Pod, container string, runs bool) error {
	ctx := command.Context()
	if runs && s.tty && s.stdin {
		command.PrintErrln("If you don't see a command prompt, press Enter.")
		return s.attach(command, pod, container)
	}
	if runs && s.stdin {
		// It ends with its input, or with the process when the container has ended.
		go func() { _ = pod.Attach(ctx, container, client.Streams{Stdin: command.InOrStdin()}) }()
	}
	return copyLog(ctx, pod, client.LogOptions{Container: container, Follow: true, Tail: -1}, command.OutOrStdout())
}
