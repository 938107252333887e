package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/klog/v2"
)

// plan is what is measured, and how much.
type plan struct {
	lifepod string
	nodes   int
	workers int // of each node
	n       int // restarts
	kubelet bool
}

func main() {
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the program to measure")
	flag.IntVar(&p.nodes, "nodes", 3, "nodes, all on this machine")
	flag.IntVar(&p.workers, "workers", 2, "pods of a JobSet on each node")
	flag.IntVar(&p.n, "n", 10, "rounds, after one that is not counted")
	flag.BoolVar(&p.kubelet, "kubelet", false, "measure a node of the kubelet with JobSet's agents, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(klog.Logger{}) // it would tell of connections that end with a node
	if err := run(ctx, p); err != nil {
		fmt.Fprintln(os.Stderr, "bench/groups:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p plan) (err error) {
	if p.lifepod, err = filepath.Abs(p.lifepod); err != nil {
		return err
	}
	b, err := open(ctx, p)
	if err == nil {
		err = b.measureAll(ctx)
	}
	return errors.Join(err, b.close())
}
