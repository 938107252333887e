package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/run"
	"github.com/lifepod/lifepod/unattended"
)

// newControlCommands are those that see and steer pods which another lifepod runs.
func newControlCommands(g *global, code *int) []*cobra.Command {
	return interruptible(
		newPsCommand(g), newRmCommand(g), newPruneCommand(g), newStatusCommand(g), newLogsCommand(g), newWhyCommand(g.journal, code), newTimelineCommand(g.journal),
		newExecCommand(g, code), newAttachCommand(g, code), newCopyCommand(g), newPortForwardCommand(g), newDebugCommand(g, code),
		newStopCommand(g), newRestartCommand(g), newResizeCommand(g), newConditionCommand(g), newWaitCommand(g), newEventsCommand(g), newUICommand(g),
		newDownCommand(g),
	)
}

// pods knows the pods of the state folder.
func (g *global) pods() (*client.Client, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root may see and steer pods: run it with sudo")
	}
	paths, err := bundle.Locate(g.root, "")
	if err != nil {
		return nil, err
	}
	c := client.New(control.Folder(paths.RunDir), paths.Root)
	c.Left = func() []unattended.Pod { return leftIn(paths.Root) }
	c.Journals, c.Elsewhere = g.journals(), g.elsewhere
	return c, nil
}

// leftIn are the pods of a state folder whose lifepod has ended without them.
func leftIn(root string) []unattended.Pod { return slices.Concat(run.Left(root), node.Left(root)) }

// onPod is a command line that names one pod.
type onPod struct {
	global    *global
	namespace string
}

// onPodCommand gives a command the flag for the namespace.
func (g *global) onPodCommand(command *cobra.Command) *onPod {
	p := &onPod{global: g}
	command.ValidArgsFunction = g.completePod
	command.Flags().StringVarP(&p.namespace, "namespace", "n", "", "the pod's `namespace`, where its name is not enough")
	return p
}

// find is the pod that the user named.
func (p *onPod) find(ctx context.Context, name string) (*client.Pod, error) {
	c, err := p.global.pods()
	if err != nil {
		return nil, err
	}
	return c.Find(ctx, name, p.namespace)
}

// podAndContainer accepts a pod's name and, if given, that of a container, which goes to container.
func podAndContainer(container *string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == 2 && args[1] != "" {
			if *container != "" {
				return errors.New("the container is named twice: POD CONTAINER and -c exclude each other")
			}
			*container = args[1]
			args = args[:1]
		}
		return onePod(command, args)
	}
}

// onePod wants exactly the name of a pod.
func onePod(command *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] != "" {
		return nil
	}
	return fmt.Errorf("want one pod: %s (lifepod ps lists them)", command.UseLine())
}

// warn writes a warning to stderr.
func warn(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "%s %s\n", plain.Busy.Paint(plain.Colours(w), "warning:"), plain.Text(fmt.Sprintf(format, args...)))
}
