package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

func newDownCommand(g *global) *cobra.Command {
	var o cluster.DownOptions
	command := &cobra.Command{
		Use:   "down [flags]",
		Short: "End what up or join runs, with its pods",
		Long: `End the process of lifepod up and the pods of this machine's node. The cluster's
state stays: the next lifepod up begins the pods again, as after a reboot.

On a machine that has joined a cluster it ends lifepod join and this machine's pods.

Each pod ends as its own lifepod would have ended it: with its preStop hooks and its
grace, which --grace replaces, sidecars last.

With --purge everything below the state folder is removed: the cluster's state and
keys, volumes, images.`,
		Args: commandline.Arguments(0, 0),

		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			log, err := g.logger()
			if err != nil {
				return err
			}
			did, err := cluster.Down(command.Context(), cluster.Config{Root: g.root, Log: log}, o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), plain.Text(did))
			return err
		},
	}
	command.Flags().BoolVar(&o.Purge, "purge", false, "remove the cluster's state, keys, volumes and images as well")
	commandline.GraceVar(command.Flags(), &o.Grace)
	return command
}
