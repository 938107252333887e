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

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// plan is how much is measured.
type plan struct {
	lifepod  string // the binary
	blocks   int    // of each side
	n        int    // evictions of each kind in a block
	pods     int    // that are there meanwhile
	idle     time.Duration
	shutdown int  // pods of it
	notify   bool // the kubelet has the kernel tell of memory
	keep     string
	only     string // side
}

func main() {
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the binary that is measured")
	flag.IntVar(&p.blocks, "blocks", 1, "turns of each side")
	flag.IntVar(&p.n, "n", 5, "evictions of each kind in a turn")
	flag.IntVar(&p.pods, "pods", 100, "pods that do nothing meanwhile")
	flag.DurationVar(&p.idle, "idle", 60*time.Second, "for how long watching is watched; 0 leaves it out")
	flag.IntVar(&p.shutdown, "shutdown", 30, "pods at a shutdown; 0 leaves it out")
	flag.BoolVar(&p.notify, "notify", false, "set kernelMemcgNotification, which the kubelet has off by default; lifepod needs no setting")
	flag.StringVar(&p.keep, "logs", "", "`folder` in which the logs of both are kept")
	flag.StringVar(&p.only, "only", "", "measure one `side` alone: kubelet or lifepod")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a member
	if err := measure(ctx, p, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench/pressure:", err)
		os.Exit(1)
	}
}

// measure takes all measurements and prints them, those that were taken before an
// error, too.
func measure(ctx context.Context, p plan, out io.Writer) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	testbed.Progress("starting containerd and a control plane")
	b, err := open(ctx, p, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var all results
	defer func() { all.print(out, p) }()
	for block := range p.blocks {
		for _, node := range b.Turns(block) {
			if p.only != "" && p.only != node.Name {
				continue
			}
			testbed.Progress("block %d of %d: %s", block+1, p.blocks, node.Name)
			s := &side{Side: node, bench: b}
			err := node.Turn(ctx, func(ctx context.Context) error { return s.measure(ctx, &all) })
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				return fmt.Errorf("block %d, %s: %w", block+1, node.Name, err)
			}
		}
	}
	return nil
}

// results are all that was measured.
type results struct {
	times  times.Samples
	loads  testbed.Loads
	untold map[string]int // pods whose end the API didn't know when the machine went on, by side
}
