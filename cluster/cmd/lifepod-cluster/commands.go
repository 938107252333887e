package main

import (
	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/cluster/backup"
	"github.com/lifepod/lifepod/cluster/kubectl"
	"github.com/lifepod/lifepod/cluster/token"
)

// addCommands adds what works on a cluster that is there.
func addCommands(root *cobra.Command) {
	root.AddCommand(
		kubectl.NewCommand(cluster.Kubeconfig),
		token.NewCommand(cluster.Kubeconfig),
		backup.NewCommand(cluster.OwnState, version()),
		backup.NewRestoreCommand(cluster.Places),
	)
}
