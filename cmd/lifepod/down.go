package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/down"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// newDownCommand is "lifepod down". On the state folder of a cluster, or of a node that
// has joined one, this process becomes the program of clusters.
func newDownCommand(g *global) *cobra.Command {
	var o down.Options
	command := &cobra.Command{
		Use:   "down [flags]",
		Short: "End all pods of a state folder, with what up or join runs there",
		Long: `End the process of lifepod up and the pods of this machine's node. The cluster's
state stays: the next lifepod up begins the pods again, as after a reboot.

On a machine that has joined a cluster it ends lifepod join and this machine's pods.
Without a cluster it ends the pods that lifepod run and lifepod agent have left in
the state folder, while no lifepod uses it.

Each pod ends as its own lifepod would have ended it: with its preStop hooks and its
grace, which --grace replaces, sidecars last.

With --purge everything of lifepod below the state folder is removed: state and keys
of a cluster, volumes, images.`,
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			if hasCluster(g.root) {
				return becomeCluster(os.Args[1:])
			}
			log, err := g.logger()
			if err != nil {
				return err
			}
			o.Root, o.Log = g.root, log
			did, err := down.Run(command.Context(), o)
			if err != nil {
				return interrupted(command.Context(), err)
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), plain.Text(did))
			return err
		},
	}
	command.Flags().BoolVar(&o.Purge, "purge", false, "remove state, keys, volumes and images as well")
	commandline.GraceVar(command.Flags(), &o.Grace)
	return command
}

// hasCluster says whether a state folder has a cluster of its own, or a node that has
// joined one.
func hasCluster(root string) bool {
	for _, folder := range []rootfolder.Entry{rootfolder.Cluster, rootfolder.Join} {
		if _, err := os.Stat(folder.In(root)); err == nil {
			return true
		}
	}
	return false
}
