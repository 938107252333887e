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
	n        int    // measurements of each kind in a block
	pods     int    // at once
	volumes  int    // pods with a volume at once
	idle     time.Duration
	keep     string // folder of the logs, empty: they are removed
	only     string // side
	profiles string // folder of lifepod's profiles, empty: none are taken
}

func main() {
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the binary that is measured")
	flag.IntVar(&p.blocks, "blocks", 3, "turns of each side")
	flag.IntVar(&p.n, "n", 5, "measurements of each kind in a turn")
	flag.IntVar(&p.pods, "pods", 100, "pods at once; 0 leaves this and the idle part out")
	flag.IntVar(&p.volumes, "volumes", 50, "pods with a volume of a CSI driver at once; 0 leaves this out")
	flag.DurationVar(&p.idle, "idle", 20*time.Second, "for how long pods that do nothing are watched")
	flag.StringVar(&p.keep, "logs", "", "`folder` in which the logs of both are kept")
	flag.StringVar(&p.profiles, "profiles", "", "`folder` for pprof profiles of lifepod at work and with the idle pods")
	flag.StringVar(&p.only, "only", "", "measure one `side` alone: floor, kubelet or lifepod")
	flag.Parse()
	testbed.Main("bench/agent", func(ctx context.Context) error { return measure(ctx, p, os.Stdout) })
}

// measure takes all measurements and prints them, those that were taken before an
// error, too.
func measure(ctx context.Context, p plan, out io.Writer) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	testbed.Progress("starting containerd and a control plane")
	s, err := open(ctx, p, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var all results
	defer func() { all.print(out, p) }()
	return testbed.Blocks(ctx, p.blocks, p.only, func(block int) []testbed.Part { return s.parts(block, &all) })
}

// results are all that was measured.
type results struct {
	times times.Samples
	loads testbed.Loads
}
