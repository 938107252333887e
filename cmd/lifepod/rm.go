package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

func newRmCommand(g *global) *cobra.Command {
	var on *onPod
	command := &cobra.Command{
		Use:   "rm [flags] POD…",
		Short: "Forget pods that have ended: what the journal has of them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			for _, name := range args {
				_, err := on.find(command.Context(), name)
				left, is := errors.AsType[*client.UnattendedError](err)
				switch {
				case err == nil:
					return fmt.Errorf("pod %s has not ended: lifepod stop ends it", name)
				case !is || !left.Over:
					return err
				}
				if err := left.Forget(); err != nil {
					return err
				}
			}
			return nil
		},
	}
	on = g.onPodCommand(command)
	command.ValidArgsFunction = completeJournal(g.journal, &on.namespace)
	return command
}

func newPruneCommand(g *global) *cobra.Command {
	var w which
	command := &cobra.Command{
		Use:               "prune [flags]",
		Short:             "Forget all pods that have ended",
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			c, err := g.pods()
			if err != nil {
				return err
			}
			pods, _, err := c.Pods(command.Context())
			if err != nil {
				return err
			}
			ended, failed := w.of(nil, c.Ended(pods, c.Unattended(pods)))
			for _, p := range ended.left {
				failed = errors.Join(failed, p.Forget())
			}
			fmt.Fprintf(command.OutOrStdout(), "Forgot %s.\n", plain.Count(len(ended.left), "ended pod"))
			return failed
		},
	}
	w.add(command)
	return command
}
