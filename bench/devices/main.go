package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// plan is how much is measured.
type plan struct {
	lifepod string // the binary
	blocks  int    // of each side
	n       int    // restarts of each kind in a block
	keep    string // folder of the logs, empty: they are removed
	only    string // side
}

func main() {
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the binary that is measured")
	flag.IntVar(&p.blocks, "blocks", 2, "turns of each side")
	flag.IntVar(&p.n, "n", 10, "restarts of each kind in a turn")
	flag.StringVar(&p.keep, "logs", "", "`folder` in which the logs of both are kept")
	flag.StringVar(&p.only, "only", "", "measure one `side` alone: floor, kubelet or lifepod")
	flag.Parse()
	testbed.Main("bench/devices", func(ctx context.Context) error { return measure(ctx, p, os.Stdout) })
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
	var all times.Samples
	defer func() { print(out, &all) }()
	return testbed.Blocks(ctx, p.blocks, p.only, func(block int) []testbed.Part { return b.parts(block, &all) })
}
