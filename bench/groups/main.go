package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/sim/command/realtime"
)

// plan is how much is measured.
type plan struct {
	pods     int
	attempts int
	every    time.Duration
	names    bool
	slow     float64
	lost     float64
	qps      int
}

// nodesCommand is the first argument of the process that is the nodes: lifepod sim nodes without the rest of lifepod.
const nodesCommand = "nodes"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench/groups:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) > 1 && os.Args[1] == nodesCommand {
		root := &cobra.Command{SilenceUsage: true, SilenceErrors: true}
		root.AddCommand(realtime.NewNodes(func() (*slog.Logger, error) { return slog.New(slog.NewTextHandler(os.Stderr, nil)), nil }))
		return root.ExecuteContext(ctx)
	}
	var p plan
	flag.IntVar(&p.pods, "pods", 200, "members of a group, each on a node of its own")
	flag.IntVar(&p.attempts, "rounds", 5, "restarts of each group that are measured, after a first one")
	flag.DurationVar(&p.every, "every", 20*time.Second, "for how long all run before a worker exits; it has to leave time for the bare writes")
	flag.BoolVar(&p.names, "dns", true, "the JobSet has a Service, whose EndpointSlices follow its pods")
	flag.Float64Var(&p.slow, "slow", 0, "per cent of the nodes on which calls of the container runtime take ten times as long")
	flag.Float64Var(&p.lost, "lost", 0, "per cent of the nodes that are lost as the worker exits: their pods are deleted by force, and made again on spare nodes")
	flag.IntVar(&p.qps, "qps", manyRequests, "requests a second of scheduler and controllers, which make and place the pods at first; in a round they make few")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a server
	b, err := open(ctx, p)
	if err != nil {
		return err
	}
	groups, err := b.measure(ctx)
	for _, g := range groups {
		g.print(os.Stdout)
	}
	return errors.Join(err, b.closers.Close())
}
