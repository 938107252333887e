package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/plain"
)

func newExecCommand(g *global, code *int) *cobra.Command {
	var on *onPod
	var s sessionFlags
	var user string
	command := &cobra.Command{
		Use:   "exec [flags] POD -- COMMAND [ARGUMENT…]",
		Short: "Run a command in a container of a pod",
		Long: `Run a command in a container of a pod.

Its exit code becomes lifepod's; 126 and 127 say that it could not be started.
When lifepod exec is ended first, by Ctrl-C or otherwise, the command is ended.`,
		Args: func(command *cobra.Command, args []string) error {
			if command.ArgsLenAtDash() != 1 || len(args) < 2 || args[0] == "" {
				return errors.New("want a pod and a command: lifepod exec [flags] POD -- COMMAND [ARGUMENT…]")
			}
			return nil
		},
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err != nil {
				return interrupted(ctx, err)
			}
			container := s.choose(command, pod)
			streams, restore := s.streams(command, s.tty)
			defer restore()
			if user == "" {
				*code, err = pod.Exec(ctx, container, args[1:], streams)
			} else {
				*code, err = pod.ExecAs(ctx, g.runtimeSocket(), container, user, args[1:], streams)
			}
			if _, ok := errors.AsType[*client.StartError](err); ok {
				command.PrintErrf("lifepod: %s\n", plain.Text(err.Error()))
				return nil
			}
			return interrupted(ctx, err)
		},
	}
	on = g.onPodCommand(command)
	s.add(command)
	command.Flags().StringVarP(&user, "user", "u", "", "as another user than the container's, `USER[:GROUP]`, by name or number (containerd only)")
	return command
}

// sessionFlags are the flags of commands that talk to a container.
type sessionFlags struct {
	container  string
	stdin, tty bool
}

func (s *sessionFlags) add(command *cobra.Command) {
	s.addContainer(command)
	flags := command.Flags()
	flags.BoolVarP(&s.stdin, "stdin", "i", false, "pass standard input on")
	flags.BoolVarP(&s.tty, "tty", "t", false, "with a terminal")
}

func (s *sessionFlags) addContainer(command *cobra.Command) {
	command.Flags().StringVarP(&s.container, "container", "c", "", "`name` of the container; without it the pod's first")
}

// choose is the container that is meant; if that was not said, the user is told.
func (s *sessionFlags) choose(command *cobra.Command, pod *client.Pod) string {
	names := control.ContainerNames(pod.Pod)
	if s.container != "" || len(names) == 1 {
		return s.container
	}
	name := control.DefaultContainer(pod.Pod)
	tellDefault(command, name, names)
	return name
}

// tellDefault says in kubectl's words which container is meant.
func tellDefault(command *cobra.Command, name string, of []string) {
	command.PrintErrf("Defaulted container %q out of: %s\n", name, plain.Line(strings.Join(of, ", ")))
}

// streams are the command's own; the function gives the terminal back. Who asks for a terminal
// gives theirs to what runs there; else a terminal gets nothing but its output.
func (s *sessionFlags) streams(command *cobra.Command, tty bool) (client.Streams, func()) {
	streams := client.Streams{Stdout: command.OutOrStdout(), Stderr: command.ErrOrStderr(), TTY: tty}
	if s.stdin {
		streams.Stdin = command.InOrStdin()
	}
	end := func() {}
	if tty && s.stdin {
		t, err := openTerminal(command.InOrStdin())
		if err == nil {
			streams.Sizes, end = t, t.close
		} else {
			warn(command.ErrOrStderr(), "-t has no effect: %v", err)
			streams.TTY = false
		}
	}
	if streams.TTY {
		return streams, end
	}
	stdout, endStdout := onTerminal(streams.Stdout)
	stderr, endStderr := onTerminal(streams.Stderr)
	streams.Stdout, streams.Stderr = stdout, stderr
	return streams, func() { endStdout(); endStderr() }
}
