package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/lifepod/lifepod/down"
	"github.com/lifepod/lifepod/internal/background"
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
Without a cluster it ends the pods of lifepod run -d, and those that lifepod run and
lifepod agent have left in the state folder, while no other lifepod uses it.

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
			stopped, err := g.stopInBackground(command.Context(), o.Grace)
			if err != nil {
				return interrupted(command.Context(), err)
			}
			did, err := down.Run(command.Context(), o)
			if err != nil {
				return interrupted(command.Context(), err)
			}
			if stopped > 0 {
				did = "Stopped " + plain.Count(stopped, "pod") + " of lifepod run -d. " + did
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), plain.Text(did))
			return err
		},
	}
	command.Flags().BoolVar(&o.Purge, "purge", false, "remove state, keys, volumes and images as well")
	commandline.GraceVar(command.Flags(), &o.Grace)
	return command
}

// stopInBackground ends each lifepod run -d, as Ctrl-C does, and says of how many pods.
func (g *global) stopInBackground(ctx context.Context, grace *time.Duration) (stopped int, err error) {
	c, err := g.pods()
	if err != nil {
		return 0, nil //nolint:nilerr // down itself says that it is not root
	}
	all, _, err := c.Pods(ctx)
	if err != nil {
		return 0, err
	}
	seconds, err := graceSeconds(grace, false)
	if err != nil {
		return 0, err
	}
	var ended errgroup.Group
	asked := map[int]bool{} // owners: a second signal would kill
	for _, pod := range all {
		pid, err := pod.Owner()
		if err != nil {
			continue // it has ended
		}
		owner, err := os.FindProcess(pid) // that one, also if another gets its number
		if err != nil || !asked[pid] && (!background.Has(pid) || owner.Signal(syscall.SIGTERM) != nil) {
			continue
		}
		asked[pid] = true
		stopped++
		ended.Go(func() error {
			if seconds != nil {
				if err := pod.Stop(ctx, seconds); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			return pod.Wait(ctx)
		})
	}
	return stopped, ended.Wait()
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
