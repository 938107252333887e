package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
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
	pods := flag.Int("idle", 0, "only run so many pods that do nothing and say what that costs")
	root := flag.String("idle-root", "", "the state folder for -idle")
	flag.Parse()
	if *pods > 0 {
		if err := beIdle(context.Background(), *root, *pods); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := bench(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench measures on a state folder of its own, which is removed afterwards.
func bench(ctx context.Context, o options) (err error) {
	root, err := os.MkdirTemp("", "lifepod-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	var all times.Samples
	if err := inProcess(ctx, root, o, &all); err != nil {
		return err
	}
	if err := wholeRuns(ctx, root, o, &all); err != nil {
		return err
	}
	print(os.Stdout, &all)
	printExecs(os.Stdout, &all)
	return idle(ctx, root, os.Stdout)
}

// inProcess measures what the agent does on one containerd, in turns with the floor.
func inProcess(ctx context.Context, root string, o options, all *times.Samples) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	pair, err := stock.OpenPair(ctx, root, stock.Config{Programs: o.stock, Subnet: netip.MustParsePrefix(stockSubnet), Bridge: stockBridge}, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Close(ctx)) }()
	b, err := newBed(ctx, runtimes{carried: pair.Carried, client: pair.Client, stock: pair.Stock.Client}, log)
	if err != nil {
		return err
	}
	defer b.close()
	return b.alternate(ctx, o.repeats, all)
}

// The network of the pods on the stock runtime.
const (
	stockSubnet = "10.255.0.0/16"
	stockBridge = "lpstock0"
)

// alternate measures one side after the other, again and again.
func (b *bed) alternate(ctx context.Context, repeats int, all *times.Samples) error {
	floor, stock := bareSide{"floor", b, b.floor}, bareSide{"stock", b, b.stock}
	for i := range repeats + warmups {
		record := all.When(i >= warmups)
		for _, part := range []part{
			{"stock floor", stock.one}, {"floor", floor.one}, {"lifepod", b.lifepod},
			{"stock floor, restart all", stock.restartAll}, {"floor, restart all", floor.restartAll}, {"lifepod, restart all", b.restartAll},
			{"readiness", b.readiness},
		} {
			if err := part.measure(ctx, record); err != nil {
				return fmt.Errorf("%s, round %d: %w", part.name, i, err)
			}
		}
	}
	for i := range max(repeats/6, 1) + 1 { // each is fifty pods
		record := all.When(i > 0)
		if err := errors.Join(stock.many(ctx, record), floor.many(ctx, record), b.many(ctx, record)); err != nil {
			return fmt.Errorf("%d at once, round %d: %w", atOnce, i, err)
		}
		if err := errors.Join(stock.execs(ctx, record), floor.execs(ctx, record)); err != nil {
			return fmt.Errorf("execs, round %d: %w", i, err)
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

func manifestFile(root string) (string, error) {
	path := filepath.Join(root, "true.yaml")
	return path, os.WriteFile(path, []byte(truePod), 0o600)
}

const truePod = `apiVersion: v1
kind: Pod
metadata: {name: "true"}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: "lifepod.dev/toolbox:1", command: ["true"]}
`
