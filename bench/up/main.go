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
)

// plan is how much is measured.
type plan struct {
	lifepod string // the binary
	starts  int    // of each side
	pods    int
	idle    time.Duration
}

func main() {
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the binary that is measured")
	flag.IntVar(&p.starts, "n", 3, "starts of each side that are measured, after a first one")
	flag.IntVar(&p.pods, "pods", 50, "pods that run while memory is looked at")
	flag.DurationVar(&p.idle, "idle", 30*time.Second, "for how long a cluster that does nothing is watched")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a server
	if err := measure(ctx, p); err != nil {
		fmt.Fprintln(os.Stderr, "bench/up:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, p plan) error {
	program, err := filepath.Abs(p.lifepod)
	if err != nil {
		return err
	}
	var t table
	defer func() { t.print(os.Stdout, p) }()
	if info, err := os.Stat(program); err == nil {
		t.note(lifepodSide, binarySize, float64(info.Size())/(1<<20))
	}
	for _, s := range []side{&lifepodUp{program: program}, &separate{}} {
		err := measureSide(ctx, p, s, &t)
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		err = errors.Join(err, s.remove(closing))
		done()
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name(), err)
		}
	}
	return nil
}
