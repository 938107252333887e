package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/lifepod/lifepod/bench/stock"
	"github.com/lifepod/lifepod/bench/times"
)

type options struct {
	repeats int
	binary  string
	stock   string
}

func main() {
	var o options
	flag.IntVar(&o.repeats, "n", 30, "rounds; each measures the floor and lifepod once")
	flag.StringVar(&o.binary, "lifepod", "bin/lifepod", "the binary for the whole runs")
	flag.StringVar(&o.stock, "stock", ".cache/stock", "the `folder` of the runtime as upstream ships it (make stock-runtime)")
	flag.Parse()
	if err := bench(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench measures on state folders of its own, which are removed afterwards.
func bench(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "lifepod-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	alone := command{o.binary, filepath.Join(dir, "alone")}
	defer func() { err = errors.Join(err, alone.do(ctx, "down", "--purge")) }()
	var all times.Samples
	if err := onePair(ctx, dir, alone, o, &all); err != nil {
		return err
	}
	print(os.Stdout, &all)
	printExecs(os.Stdout, &all)
	return alone.idle(ctx, os.Stdout)
}

// onePair measures in turns, with one containerd of either kind.
func onePair(ctx context.Context, dir string, alone command, o options, all *times.Samples) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	shared := command{o.binary, filepath.Join(dir, "shared")}
	pair, err := stock.OpenPair(ctx, shared.root, o.stock, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Close(ctx)) }()
	theirs, err := newPodman(ctx, dir, o.stock, filepath.Join(pair.Carried.Paths().Images(), "carried.tar"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.close(ctx)) }()
	b, err := newBed(ctx, pair, log)
	if err != nil {
		return err
	}
	defer b.close()
	floor, stock := bareSide{"floor", b, b.floor}, bareSide{"stock", b, b.stock}
	err = alternate(ctx, warmups, o.repeats, all, []part{
		{"stock floor", stock.one}, {"floor", floor.one}, {"lifepod", b.lifepod},
		{"stock floor, restart all", stock.restartAll}, {"floor, restart all", floor.restartAll}, {"lifepod, restart all", b.restartAll},
		{"readiness", b.readiness},
		{"podman", theirs.run}, {"lifepod run", alone.runs("run", 1)},
		{"floor of run", floor.runs(sharedRun, 1)}, {"lifepod run, shared", shared.runs(sharedRun, 1)},
		{"floor of run of 10", floor.runs(tenRun, 10)}, {"lifepod run of 10", shared.runs(tenRun, 10)},
	})
	if err != nil {
		return err
	}
	return alternate(ctx, 1, max(o.repeats/6, 1), all, []part{ // each is fifty pods
		{"stock floor of many", stock.many}, {"floor of many", floor.many}, {"many", b.many},
		{"execs on the stock runtime", stock.execs}, {"execs", floor.execs},
	})
}

const (
	sharedRun = "run, shared runtime"
	tenRun    = "run of 10 pods"
)

// alternate measures one part after the other, again and again. The first repeats are not counted.
func alternate(ctx context.Context, uncounted, repeats int, all *times.Samples, parts []part) error {
	for i := range uncounted + repeats {
		for _, part := range parts {
			if err := part.measure(ctx, all.When(i >= uncounted)); err != nil {
				return fmt.Errorf("%s, round %d: %w", part.name, i, err)
			}
		}
	}
	return nil
}

// part is one side of one measurement, done once each time.
type part struct {
	name    string
	measure func(context.Context, times.Record) error
}

// warmups are repeats that are not counted.
const warmups = 3
