package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
)

func newRestartCommand(g *global) *cobra.Command {
	var on *onPod
	var container string
	var all, graceful bool
	var wait waiting
	command := &cobra.Command{
		Use:   "restart [flags] POD",
		Short: "Restart a container of a pod, or all of them in place",
		Long: `Restart a container of a pod, or all of them in place.

One container is stopped gracefully and started again; the others run on. With
--all every container is ended at once, as by the action RestartAllContainers:
init containers run again in order, and the pod keeps its address, its sandbox
and its volumes. --graceful lets preStop hooks and grace come first.

It waits until the containers have started again, unless --no-wait.`,
		Args: onePod,
		RunE: func(command *cobra.Command, args []string) error {
			switch {
			case all && container != "":
				return errors.New("-c and --all exclude each other")
			case graceful && !all:
				return errors.New("--graceful is for --all: a single container is always stopped gracefully")
			}
			ctx := command.Context()
			pod, err := on.find(ctx, args[0])
			if err == nil && !all {
				container, err = onlyRestartable(pod, container)
			}
			if err == nil {
				err = wait.restart(ctx, pod, container, graceful)
			}
			return err
		},
	}
	on = g.onPodCommand(command)
	flags := command.Flags()
	flags.StringVarP(&container, "container", "c", "", "`name` of the container")
	flags.BoolVar(&all, "all", false, "all containers, in place")
	flags.BoolVar(&graceful, "graceful", false, "with --all: run preStop hooks and give the pod's grace")
	wait.add(command, "the containers run again")
	return command
}

// restart restarts a container, or all if it is empty, and waits for that.
func (w *waiting) restart(ctx context.Context, pod *client.Pod, container string, graceful bool) error {
	before, err := pod.Restart(ctx, container, graceful)
	if err != nil {
		return err
	}
	containers := []string{container}
	if container == "" {
		containers = control.Restartable(pod.Pod)
	}
	return w.wait(ctx, func(ctx context.Context) error { return pod.AwaitRestart(ctx, before, containers) })
}

// onlyRestartable is the container that was named, or the pod's only one.
func onlyRestartable(pod *client.Pod, container string) (string, error) {
	names := control.Restartable(pod.Pod)
	switch {
	case container != "":
		return container, nil
	case len(names) == 1:
		return names[0], nil
	}
	return "", fmt.Errorf("which container? -c %s, or --all", strings.Join(names, ", -c "))
}
