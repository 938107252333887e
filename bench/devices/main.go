package main

import (
	"context"
	"flag"
	"log/slog"

	"github.com/lifepod/lifepod/bench/testbed"
)

// plan is how much is measured.
type plan struct {
	testbed.Settings
	n int // restarts of each kind in a block
}

func main() {
	var p plan
	p.AddFlags(2, "floor, kubelet or lifepod")
	flag.IntVar(&p.n, "n", 10, "restarts of each kind in a turn")
	flag.Parse()
	testbed.Main("bench/devices", p.Settings, func(ctx context.Context, log *slog.Logger) (*bench, error) { return open(ctx, p, log) })
}
