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
	n    int // single pods in a block
	pods int // at once
}

func main() {
	var p plan
	p.AddFlags(1, "floor, kubelet or lifepod")
	flag.IntVar(&p.n, "n", 10, "single pods in a turn")
	flag.IntVar(&p.pods, "pods", 50, "pods at once")
	flag.Parse()
	testbed.Main("bench/volumes", p.Settings, func(ctx context.Context, log *slog.Logger) (*bench, error) { return open(ctx, p, log) })
}
