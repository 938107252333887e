package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"time"

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
	testbed.Main("bench/pressure", func(ctx context.Context) error { return measure(ctx, p, os.Stdout) })
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
	return testbed.Blocks(ctx, p.blocks, p.only, func(block int) (parts []testbed.Part) {
		for _, node := range b.Turns(block) {
			s := &side{Side: node, bench: b}
			parts = append(parts, testbed.Part{Name: node.Name, Measure: func(ctx context.Context) error {
				return node.Turn(ctx, func(ctx context.Context) error { return s.measure(ctx, &all) })
			}})
		}
		return parts
	})
}

// results are all that was measured.
type results struct {
	times  times.Samples
	loads  testbed.Loads
	untold map[string]int // pods whose end the API didn't know when the machine went on, by side
}
