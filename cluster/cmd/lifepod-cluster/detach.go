package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/lifepod/lifepod/cluster"
	"github.com/lifepod/lifepod/internal/background"
)

// upDetached starts the same command line in the background and waits until the cluster is ready.
func upDetached(ctx context.Context, out io.Writer, root string) error {
	if os.Geteuid() != 0 {
		return errors.New("only root may run a cluster: run it with sudo")
	}
	if err := cluster.Idle(root); err != nil {
		return err
	}
	log, err := cluster.LogFile(root)
	if err != nil {
		return err
	}
	var ready cluster.Ready
	if err := background.Start(ctx, "the cluster did not come up", log, nil, &ready); err != nil {
		return err
	}
	printReady(out, root, ready)
	return nil
}
