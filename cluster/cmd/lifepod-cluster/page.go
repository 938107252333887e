package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/run"
	"github.com/lifepod/lifepod/ui"
	"github.com/lifepod/lifepod/unattended"
)

// servePage serves the page of a cluster that is ready, until the command's context ends, and says
// where. Without the page the cluster runs all the same.
func servePage(command *cobra.Command, c cluster.Config, r cluster.Ready) {
	server, err := openPage(c, r)
	if err != nil {
		c.Log.Warn("there is no page", "err", err)
		return
	}
	fmt.Fprintf(command.OutOrStdout(), "\n  page: %s\n", server.Link())
	go func() {
		if err := server.Serve(command.Context()); err != nil {
			c.Log.Warn("the page ended", "err", err)
		}
	}()
}

func openPage(c cluster.Config, r cluster.Ready) (*ui.Server, error) {
	paths, err := bundle.Locate(c.Root, "")
	if err != nil {
		return nil, err
	}
	pods := client.New(control.Folder(paths.RunDir), paths.Root)
	pods.Left = func() []unattended.Pod { return slices.Concat(run.Left(paths.Root), node.Left(paths.Root)) }
	pods.Journals = journal.In(paths.Root)
	of, err := ui.OpenCluster(r.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return ui.Listen(ui.Config{Pods: pods, Journal: journal.Together(pods.Journals), Cluster: of, Log: c.Log}, ui.AnyPort)
}
