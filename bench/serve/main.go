// Command serve measures how many pods one node runs on the runtime without containers, lifepod sim serve: lifepod agent and, if it is
// asked for, the kubelet, each as the only node of a real control plane, in turns.
//
// Pods are created by one client, so many at the same time as -creators says, and name their node: the scheduler has no part in it.
// A watch says when each is Ready. The runtime's calls take as long as usual (sim/scenario), as many at the same time as the node makes.
// CPU times are those from the first request until all pods are Ready; memory is that with all pods, after a rest.
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

	"github.com/lifepod/lifepod/e2e/controlplane"
)

// plan is how much is measured.
type plan struct {
	lifepod  string
	pods     int
	creators int // requests of the client at the same time
	kubelet  bool
	profiles string // folder; empty: none are written
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench/serve:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the program to measure, which also has the runtime")
	flag.IntVar(&p.pods, "pods", 10000, "pods of the node")
	flag.IntVar(&p.creators, "creators", 32, "how many pods are created at the same time")
	flag.BoolVar(&p.kubelet, "kubelet", false, "measure the kubelet, too, with as many pods")
	flag.StringVar(&p.profiles, "profiles", "", "`folder` for pprof profiles of lifepod agent, from the first create until all pods are Ready, and with all of them at rest")
	flag.Parse()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a server
	if p.pods < 1 || p.creators < 1 {
		return fmt.Errorf("-pods %d -creators %d: want 1 or more", p.pods, p.creators)
	}
	if p.lifepod, err = filepath.Abs(p.lifepod); err != nil {
		return err
	}
	const manyRequests = 10000 // a rate that limits nobody
	progress("control plane")
	plane, err := controlplane.Start(ctx, controlplane.Config{QPS: manyRequests})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	programs := []string{p.lifepod}
	if p.kubelet {
		programs = append(programs, plane.Binary("kubelet"))
	}
	var results []result
	for _, program := range programs {
		r, err := measure(ctx, p, plane, program)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(program), err)
		}
		results = append(results, r)
	}
	print(os.Stdout, p, results)
	return nil
}

func progress(format string, values ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", values...)
}
