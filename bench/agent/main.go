package main

import (
	"context"
	"flag"
	"log/slog"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/bench/times"
)

// plan is how much is measured.
type plan struct {
	testbed.Settings
	n        int // measurements of each kind in a block
	pods     int // at once
	writes   int // pods whose writes are counted
	idle     time.Duration
	gates    string // of the kubelet
	profiles string // folder of lifepod's profiles, empty: none are taken
}

func main() {
	var p plan
	p.AddFlags(3, "floor, kubelet or lifepod")
	flag.IntVar(&p.n, "n", 5, "measurements of each kind in a turn")
	flag.IntVar(&p.pods, "pods", 100, "pods at once; 0 leaves this and the idle part out")
	flag.IntVar(&p.writes, "writes", 4, "pods whose writes to the API server are counted, in the first turn; 0 leaves this out")
	flag.DurationVar(&p.idle, "idle", 20*time.Second, "for how long pods that do nothing are watched")
	flag.StringVar(&p.gates, "kubelet-gates", "", "feature `gates` of the kubelet, such as EventedPLEG=true")
	flag.StringVar(&p.profiles, "profiles", "", "`folder` for pprof profiles of lifepod at work and with the idle pods")
	flag.Parse()
	testbed.Main("bench/agent", p.Settings, func(ctx context.Context, log *slog.Logger) (*bench, error) { return open(ctx, p, log) })
}

// results are all that was measured.
type results struct {
	times times.Samples
	loads testbed.Loads
	// writes by side, then by what happened to the pods.
	writes map[string]map[string]counted
	// created is what a side has used of a CPU for each pod that was created at once.
	created map[string][]time.Duration
}
