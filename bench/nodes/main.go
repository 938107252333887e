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
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/bench/nodes/profiled"
	"github.com/lifepod/lifepod/bench/nodes/side"
)

// plan is how much is measured.
type plan struct {
	lifepod     string
	nodes, pods int
	creators    int // requests of the client at the same time
	n           int // rounds
	parallelism int // of KWOK
	only        string
	profiles    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench/nodes:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) > 1 && os.Args[1] == profiled.Command {
		return profiled.Run(ctx, os.Args[2:])
	}
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the program to measure")
	flag.IntVar(&p.nodes, "nodes", 1000, "simulated nodes")
	flag.IntVar(&p.pods, "pods", 10000, "pods, which are spread over the nodes")
	flag.IntVar(&p.creators, "creators", 32, "how many pods are created at the same time")
	flag.IntVar(&p.n, "n", 3, "rounds, after a small one that is not counted; figures are medians")
	flag.IntVar(&p.parallelism, "kwok-parallelism", side.UsualParallelism,
		"how much KWOK does at the same time: its podPlayStageParallelism, nodePlayStageParallelism and nodeLeaseParallelism")
	flag.StringVar(&p.only, "only", "", "measure one side alone: lifepod, KWOK or life")
	flag.StringVar(&p.profiles, "profiles", "", "`folder` for profiles of the process of lifepod's nodes, which then is this program")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a server
	if err := p.check(); err != nil {
		return err
	}
	b, err := open(ctx, p)
	if err != nil {
		return err
	}
	err = b.measure(ctx)
	b.all.print(os.Stdout, b.headline())
	return errors.Join(err, b.close())
}

func (p *plan) check() (err error) {
	for name, value := range map[string]int{"nodes": p.nodes, "pods": p.pods, "creators": p.creators, "n": p.n, "kwok-parallelism": p.parallelism} {
		if value < 1 {
			return fmt.Errorf("-%s %d: want 1 or more", name, value)
		}
	}
	if _, known := side.All[p.only]; p.only != "" && !known {
		return fmt.Errorf("-only %s: want lifepod, KWOK or life", p.only)
	}
	p.lifepod, err = filepath.Abs(p.lifepod)
	return err
}

func progress(format string, values ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", values...)
}
