package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/lifepod/lifepod/bench/stock"
	"github.com/lifepod/lifepod/host"
)

type options struct {
	repeats int
	stock   string
}

func main() {
	var o options
	flag.IntVar(&o.repeats, "n", 20, "pods on each runtime")
	flag.StringVar(&o.stock, "stock", ".cache/stock", "the `folder` of the runtime as upstream ships it (make stock-runtime)")
	flag.Parse()
	if err := bench(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/steps:", err)
		os.Exit(1)
	}
}

// warmups are repeats that are not counted.
const warmups = 2

// bench makes pods on one runtime after the other, below a state folder that is removed afterwards.
func bench(ctx context.Context, o options) (err error) {
	root, err := os.MkdirTemp("", "lifepod-steps-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	pair, err := stock.OpenPair(ctx, root, o.stock, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Close(ctx)) }()
	node := host.NodeConfig{Root: root, CgroupParent: pair.Carried.CgroupParent()[1:], Log: log}
	carried, before := node, node
	carried.Runtime, carried.IPAMDir, before.Runtime = pair.Client, pair.Carried.Paths().IPAM(), pair.Stock.Client
	return alternate(ctx, o.repeats, before, carried)
}

// alternate makes a pod on each of the runtimes and deletes it, one after the other, and prints what that came to.
func alternate(ctx context.Context, repeats int, configs ...host.NodeConfig) error {
	var sides []*side
	for _, c := range configs {
		s, err := newSide(ctx, c)
		if err != nil {
			return err
		}
		defer s.close()
		sides = append(sides, s)
	}
	for i := range repeats + warmups {
		for _, s := range sides {
			created, deleted, err := s.live(ctx)
			if err != nil {
				return fmt.Errorf("round %d: %w", i, err)
			}
			if i >= warmups {
				s.created, s.deleted = append(s.created, created), append(s.deleted, deleted)
			}
		}
	}
	printSteps(os.Stdout, sides[0].created, sides[1].created)
	printSteps(os.Stdout, sides[0].deleted, sides[1].deleted)
	_, err := fmt.Printf("medians of %d pods on each runtime, in turns\n", repeats)
	return err
}
