package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
)

func newCopyCommand(g *global) *cobra.Command {
	var on *onPod
	var s sessionFlags
	command := &cobra.Command{
		Use:   "cp [flags] POD:PATH LOCAL | LOCAL POD:PATH",
		Short: "Copy files and folders out of a container, and into it",
		Long: `Copy files and folders out of a container, and into it.

The container has to run; its image needs no tar. A copy goes into a folder that
is there already, and takes the place of a file. PATH begins at the container's
root. What is copied in belongs to the container's user.`,
		Args: commandline.Arguments(2, 2),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			name, paths, out, err := copyArguments(args)
			if err != nil {
				return err
			}
			pod, err := on.find(ctx, name)
			if err == nil {
				err = copyFiles(command, pod, s.choose(command, pod), paths, out)
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	command.ValidArgsFunction = nil // files
	s.addContainer(command)
	return command
}

// copyArguments are the pod and both paths, of which the first is the pod's if it is out of it.
func copyArguments(args []string) (pod string, paths [2]string, out bool, err error) {
	pods := 0
	for i, arg := range args {
		paths[i] = arg
		if arg == "-" {
			return "", paths, false, errors.New("cp - is not known: lifepod exec POD -- cat FILE writes a file to standard output")
		}
		name, path, found := strings.Cut(arg, ":")
		if !found || strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, ".") {
			continue
		}
		if name == "" || path == "" {
			return "", paths, false, fmt.Errorf("%q: want POD:PATH, such as web:/etc/hosts", arg)
		}
		pod, paths[i], out = name, path, i == 0
		pods++
	}
	if pods != 1 {
		return "", paths, false, fmt.Errorf("%q and %q: one must be a path in a container, POD:PATH, and the other one of this machine (with ./ in front, if it has a colon)", args[0], args[1])
	}
	return pod, paths, out, nil
}

func copyFiles(command *cobra.Command, pod *client.Pod, container string, paths [2]string, out bool) error {
	ctx := command.Context()
	process, err := pod.Process(ctx, container)
	if err != nil {
		return err
	}
	tree, err := client.OpenTree(process)
	if err != nil {
		return err
	}
	tree.Warn = func(format string, args ...any) { warn(command.ErrOrStderr(), format, args...) }
	if out {
		err = tree.CopyOut(ctx, paths[0], paths[1])
	} else {
		err = tree.CopyIn(ctx, paths[0], paths[1])
	}
	return errors.Join(err, tree.Close())
}
