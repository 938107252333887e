package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// plan is what is measured, and how much.
type plan struct {
	lifepod string // the binary
	keep    string // folder of the logs, empty: they are removed
	blocks  int    // of each side
	n       int    // measurements of each kind in a block
	pods    int    // at once
	writes  int    // pods whose writes are counted
	idle    time.Duration
	gates   string // of the kubelet
}

func main() {
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the binary that is measured")
	flag.IntVar(&p.blocks, "blocks", 3, "turns of each side")
	flag.StringVar(&p.keep, "logs", "", "`folder` in which the logs of both are kept")
	flag.IntVar(&p.n, "n", 5, "measurements of each kind in a turn")
	flag.IntVar(&p.pods, "pods", 100, "pods at once; 0 leaves this and the idle part out")
	flag.IntVar(&p.writes, "writes", 4, "pods whose writes to the API server are counted, in the first turn; 0 leaves this out")
	flag.DurationVar(&p.idle, "idle", 20*time.Second, "for how long pods that do nothing are watched")
	flag.StringVar(&p.gates, "kubelet-gates", "", "feature `gates` of the kubelet, such as EventedPLEG=true")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a member
	if err := run(ctx, p, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench/agent:", err)
		stop()
		os.Exit(1)
	}
}

// run prints what was measured, before an error, too.
func run(ctx context.Context, p plan, out io.Writer) (err error) {
	testbed.Progress("starting containerd and a control plane")
	b, err := open(ctx, p, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	defer func() { b.print(out) }()
	for block := range p.blocks {
		if err := b.measure(ctx, block); err != nil {
			return err
		}
	}
	return nil
}

type results struct {
	times times.Samples
	loads map[string][]process.Load // by side
	// writes by side, then by what happened to the pods.
	writes map[string]map[string]counted
	// created is what a side has used of a CPU for each pod that was created at once.
	created map[string][]time.Duration
}
