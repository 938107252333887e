package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
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
	floors   bool
	logs     string
}

// nodesCommand is the first argument of the process that is the nodes: lifepod sim nodes without the rest of lifepod.
const nodesCommand = "nodes"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench/groups/simulated:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) > 1 && os.Args[1] == nodesCommand {
		return beNodes(ctx, os.Args[2:])
	}
	var p plan
	flag.IntVar(&p.pods, "pods", 200, "members of the JobSet, each on a node of its own")
	flag.IntVar(&p.attempts, "rounds", 10, "restarts that are measured, after a first one")
	flag.DurationVar(&p.every, "every", 20*time.Second, "for how long all run before a worker exits; it has to leave time for the bare writes")
	flag.BoolVar(&p.names, "dns", true, "the JobSet has a Service, whose EndpointSlices follow its pods")
	flag.Float64Var(&p.slow, "slow", 0, "per cent of the nodes on which calls of the container runtime take ten times as long")
	flag.Float64Var(&p.lost, "lost", 0, "per cent of the nodes that are lost as the worker exits: their pods are deleted by force, and made again on spare nodes")
	flag.BoolVar(&p.floors, "floors", true, "write the same for as many other pods after each round that counts")
	flag.IntVar(&p.qps, "qps", manyRequests, "requests a second of scheduler and controllers, which make and place the pods at first; in a round they make few")
	flag.StringVar(&p.logs, "logs", "", "`folder` for logs of the nodes and the JobSet controller, and profiles of nodes and API server; empty: none")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a server
	b, err := open(ctx, p)
	if err != nil {
		return err
	}
	err = b.measure(ctx)
	b.all.print(os.Stdout, p)
	return errors.Join(err, b.closers.Close())
}

// beNodes is the process of the nodes.
func beNodes(ctx context.Context, args []string) (err error) {
	if file := os.Getenv(profileVariable); file != "" {
		profile, err := os.Create(file)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(profile); err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); err = errors.Join(err, profile.Close()) }()
	}
	command := realtime.NewNodes(func() (*slog.Logger, error) { return slog.New(slog.NewTextHandler(os.Stderr, nil)), nil })
	root := &cobra.Command{SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(command)
	root.SetArgs(append([]string{nodesCommand}, args...))
	return root.ExecuteContext(ctx)
}

// profileVariable names the file of a profile of the nodes' process.
const profileVariable = "LIFEPOD_BENCH_PROFILE"
