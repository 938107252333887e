package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/background"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/pidfd"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// newDownCommand is "lifepod down". On the state folder of a cluster, or of a node that
// has joined one, this process becomes the program of clusters.
func newDownCommand(g *global) *cobra.Command {
	var o downOptions
	command := &cobra.Command{
		Use:   "down [flags]",
		Short: "End all pods of a state folder, with what up or join runs there",
		Long: `End the process of lifepod up and the pods of this machine's node. The cluster's
state stays: the next lifepod up begins the pods again, as after a reboot.

On a machine that has joined a cluster it ends lifepod join and this machine's pods.
Without a cluster it ends every lifepod run -d, and the pods that lifepod run and
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
			o.root, o.log = g.root, log
			stopped, err := g.stopInBackground(command.Context(), o.grace)
			if err != nil {
				return err
			}
			did, err := endFolder(command.Context(), o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), plain.Text(stopped+did))
			return err
		},
	}
	command.Flags().BoolVar(&o.purge, "purge", false, "remove state, keys, volumes and images as well")
	commandline.GraceVar(command.Flags(), &o.grace)
	return command
}

// stopInBackground ends each lifepod run -d, as Ctrl-C does, also one that has no pod at the moment, and says so.
func (g *global) stopInBackground(ctx context.Context, grace *time.Duration) (did string, err error) {
	c, err := g.pods()
	if err != nil {
		return "", nil //nolint:nilerr // down itself says that it is not root
	}
	all, _, err := c.Pods(ctx)
	if err != nil {
		return "", err
	}
	seconds, err := graceSeconds(grace, false)
	if err != nil {
		return "", err
	}
	var ended errgroup.Group
	asked, stopped := map[int]bool{}, 0
	ask := func(pid int) bool {
		if asked[pid] {
			return true // a second signal would kill
		}
		process, err := pidfd.OpenPID(pid) // that one, also if another gets its number
		if err != nil {
			return false
		}
		if !background.Has(pid) || process.Signal(unix.SIGTERM) != nil {
			process.Close()
			return false
		}
		asked[pid] = true
		ended.Go(func() error {
			defer process.Close()
			return process.Wait(ctx)
		})
		return true
	}
	for _, pod := range all {
		if pid, err := pod.Owner(); err != nil || !ask(pid) {
			continue // it has ended, or somebody is at its terminal
		}
		stopped++
		if seconds != nil {
			ended.Go(func() error {
				if err := pod.Stop(ctx, seconds); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				return nil
			})
		}
	}
	for _, pid := range background.LoggingTo(rootfolder.RunLog.In(g.root)) {
		ask(pid)
	}
	if len(asked) > 0 {
		did = "Stopped lifepod run -d with " + plain.Count(stopped, "pod") + ". "
	}
	return did, ended.Wait()
}

// hasCluster says whether a state folder has a cluster of its own, or a node that has
// joined one.
func hasCluster(root string) bool {
	return slices.ContainsFunc([]rootfolder.Entry{rootfolder.Cluster, rootfolder.Join}, func(folder rootfolder.Entry) bool {
		_, err := os.Stat(folder.In(root))
		return err == nil
	})
}
