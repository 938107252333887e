// Package profiled is the process of lifepod sim nodes with profiles, for the benchmark of simulated nodes.
package profiled

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/sim/command/realtime"
)

// Command is the first argument of the process that is the nodes when it writes profiles.
const Command = "nodes"

// Run is the process of lifepod's nodes, with profiles: of the CPU for all its time, of memory and goroutines at each SIGUSR1.
func Run(ctx context.Context, args []string) (err error) {
	dir := os.Getenv(Variable)
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
	root.SetArgs(append([]string{Command}, args...))
	return root.ExecuteContext(ctx)
}

func writeProfile(file, name string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
}

// Variable names the folder of the profiles of the nodes' process.
const Variable = "LIFEPOD_BENCH_PROFILES"
