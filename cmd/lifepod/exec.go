package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

func newExecCommand(g *global, code *int) *cobra.Command {
	var on *onPod
	var s sessionFlags
	var words []string
	var user string
	command := &cobra.Command{
		Use:   "exec [flags] POD [--] COMMAND [ARGUMENT…]",
		Short: "Run a command in a container of a pod",
		Long: `Run a command in a container of a pod.

Its exit code becomes lifepod's; 126 and 127 say that it could not be started.
When lifepod exec is ended first, by Ctrl-C or otherwise, the command is ended.`,
		Args: func(command *cobra.Command, args []string) (err error) {
			words, err = behindPod(command, args)
			if err == nil && len(words) == 0 {
				return fmt.Errorf("want a pod and a command: %s", command.UseLine())
			}
			return err
		},
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err != nil {
				return err
			}
			container := s.choose(command, pod)
			streams, restore := s.streams(command, s.tty)
			defer restore()
			if user == "" {
				*code, err = pod.Exec(ctx, container, words, streams)
			} else {
				*code, err = pod.ExecAs(ctx, g.runtimeSocket(), container, user, words, streams)
			}
			if _, ok := errors.AsType[*client.StartError](err); ok {
				command.PrintErrf("lifepod: %s\n", plain.Text(err.Error()))
				return nil
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	s.add(command)
	command.Flags().StringVarP(&user, "user", "u", "", "as another user than the container's, by name or number; it needs containerd: `USER[:GROUP]`")
	command.Flags().SetInterspersed(false)
	return command
}

// behindPod is the command of POD [flags] [--] COMMAND, whose own flags stand behind its first word. The flags of ours, parsed up to
// the pod so far, are parsed to their end.
func behindPod(command *cobra.Command, args []string) ([]string, error) {
	if len(args) == 0 || args[0] == "" {
		return nil, fmt.Errorf("want a pod: %s", command.UseLine())
	}
	flags := command.Flags()
	if err := flags.Parse(args[1:]); err != nil {
		return nil, commandline.FlagError(command, err)
	}
	if help, _ := flags.GetBool("help"); help {
		return nil, pflag.ErrHelp
	}
	return flags.Args(), nil
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
