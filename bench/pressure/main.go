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
	n        int // evictions of each kind in a block
	pods     int // that are there meanwhile
	idle     time.Duration
	shutdown int  // pods of it
	notify   bool // the kubelet has the kernel tell of memory
}

func main() {
	var p plan
	p.AddFlags(1, "kubelet or lifepod")
	flag.IntVar(&p.n, "n", 5, "evictions of each kind in a turn")
	flag.IntVar(&p.pods, "pods", 100, "pods that do nothing meanwhile")
	flag.DurationVar(&p.idle, "idle", 60*time.Second, "for how long watching is watched; 0 leaves it out")
	flag.IntVar(&p.shutdown, "shutdown", 30, "pods at a shutdown; 0 leaves it out")
	flag.BoolVar(&p.notify, "notify", false, "set kernelMemcgNotification, which the kubelet has off by default; lifepod needs no setting")
	flag.Parse()
	testbed.Main("bench/pressure", p.Settings, func(ctx context.Context, log *slog.Logger) (*bench, error) { return open(ctx, p, log) })
}

// Parts are the turns of one block.
func (b *bench) Parts(block int) (parts []testbed.Part) {
	for _, node := range b.Turns(block) {
		s := &side{Side: node, bench: b}
		parts = append(parts, testbed.Part{Name: node.Name, Measure: func(ctx context.Context) error {
			return node.Turn(ctx, func(ctx context.Context) error { return s.measure(ctx, &b.all) })
		}})
	}
	return parts
}

// results are all that was measured.
type results struct {
	times  times.Samples
	loads  testbed.Loads
	untold map[string]int // pods whose end the API didn't know when the machine went on, by side
}
