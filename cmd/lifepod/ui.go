package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/ui"
)

func newUICommand(g *global) *cobra.Command {
	var listen, kubeconfig string
	command := &cobra.Command{
		Use:   "ui [flags]",
		Short: "Show the pods of this machine in a browser: why, timelines, logs, a console",
		Long: `Show the pods of this machine in a browser: how they are and why, their timelines as
they grow, logs, a console, buttons to restart and stop. With the cluster of lifepod
up also its objects.

It serves a page on this machine only, and prints the link to it. The link works once;
who has it may do with pods what root may. To see it from another machine, forward
its port: ssh -L 8080:127.0.0.1:PORT MACHINE, and open the link with port 8080.`,
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			c, err := pageOf(g, kubeconfig)
			if err != nil {
				return err
			}
			server, err := ui.Listen(c, listen)
			if err != nil {
				return err
			}
			fmt.Fprintln(command.OutOrStdout(), server.Link())
			return server.Serve(command.Context())
		},
	}
	command.Flags().StringVar(&listen, "listen", ui.AnyPort, "`address:port` of this machine alone; port 0 is a free one")
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "the `file` that says which cluster is shown, and with whose rights; that of the cluster of lifepod up in the state folder")
	return command
}

// pageOf is what a page of this state folder shows.
func pageOf(g *global, kubeconfig string) (c ui.Config, err error) {
	if c.Pods, err = g.pods(); err != nil {
		return c, err
	}
	c.Journal = journal.Together(g.journals())
	if c.Log, err = g.logger(); err != nil {
		return c, err
	}
	if kubeconfig == "" {
		if kubeconfig = g.kubeconfig(); kubeconfig == "" {
			return c, nil // there is no cluster
		}
	}
	c.Cluster, err = ui.OpenCluster(kubeconfig)
	return c, err
}

// besidePage does something, with a page beside it, and says where that is, if it is wanted.
func besidePage(g *global, command *cobra.Command, wanted bool, do func() error) error {
	if !wanted {
		return do()
	}
	c, err := pageOf(g, "")
	if err != nil {
		return err
	}
	server, err := ui.Listen(c, ui.AnyPort)
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintln(command.ErrOrStderr(), "page: "+server.Link())
	go func() {
		if err := server.Serve(command.Context()); err != nil {
			c.Log.Warn("the page ended", "err", err)
		}
	}()
	return do()
}
