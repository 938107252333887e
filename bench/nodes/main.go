package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/e2e/kwok"
	"github.com/lifepod/lifepod/sim/command/realtime"
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

// nodesCommand is the first argument of the process that is the nodes when it writes a profile.
const nodesCommand = "nodes"

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
	if len(os.Args) > 1 && os.Args[1] == nodesCommand {
		return beNodes(ctx, os.Args[2:])
	}
	var p plan
	flag.StringVar(&p.lifepod, "lifepod", "bin/lifepod", "the program to measure")
	flag.IntVar(&p.nodes, "nodes", 1000, "simulated nodes")
	flag.IntVar(&p.pods, "pods", 10000, "pods, which are spread over the nodes")
	flag.IntVar(&p.creators, "creators", 32, "how many pods are created at the same time")
	flag.IntVar(&p.n, "n", 3, "rounds, after a small one that is not counted; figures are medians")
	flag.IntVar(&p.parallelism, "kwok-parallelism", kwok.UsualParallelism,
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
	if _, known := sides[p.only]; p.only != "" && !known {
		return fmt.Errorf("-only %s: want lifepod, KWOK or life", p.only)
	}
	p.lifepod, err = filepath.Abs(p.lifepod)
	return err
}

// beNodes is the process of lifepod's nodes, with profiles.
func beNodes(ctx context.Context, args []string) (err error) {
	dir := os.Getenv(profilesVariable)
	cpu, err := os.Create(filepath.Join(dir, "cpu.prof"))
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	heap := make(chan os.Signal, 1)
	signal.Notify(heap, syscall.SIGUSR1)
	go func() {
		for i := 0; ; i++ {
			<-heap
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			slog.Info("memory", "heap", m.HeapAlloc, "stacks", m.StackInuse, "goroutines", runtime.NumGoroutine())
			for _, name := range []string{"heap", "goroutine"} {
				if err := writeProfile(filepath.Join(dir, fmt.Sprintf("%s-%d.prof", name, i)), name); err != nil {
					slog.Error("write a profile", "err", err)
				}
			}
		}
	}()
	defer func() { pprof.StopCPUProfile(); err = errors.Join(err, cpu.Close()) }()
	command := realtime.NewNodes(func() (*slog.Logger, error) { return slog.New(slog.NewTextHandler(os.Stderr, nil)), nil })
	root := &cobra.Command{SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(command)
	root.SetArgs(append([]string{nodesCommand}, args...))
	return root.ExecuteContext(ctx)
}

func writeProfile(file, name string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
}

// profilesVariable names the folder of the profiles of the nodes' process.
const profilesVariable = "LIFEPOD_BENCH_PROFILES"

func progress(format string, values ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", values...)
}
