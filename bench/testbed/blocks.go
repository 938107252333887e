package testbed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Settings are what the user says of every benchmark.
type Settings struct {
	Lifepod string // the binary
	Keep    string // folder of the logs, empty: they are removed
	blocks  int    // of each side
	only    string // side
}

// AddFlags adds a flag for each. By default each side is measured so many times; sides names those that
// can be measured alone.
func (s *Settings) AddFlags(blocks int, sides string) {
	flag.StringVar(&s.Lifepod, "lifepod", "bin/lifepod", "the binary that is measured")
	flag.IntVar(&s.blocks, "blocks", blocks, "turns of each side")
	flag.StringVar(&s.Keep, "logs", "", "`folder` in which the logs of both are kept")
	flag.StringVar(&s.only, "only", "", "measure one `side` alone: "+sides)
}

// Benchmark is what is measured, once it is open.
type Benchmark interface {
	// Parts are what is measured in a block, one after the other.
	Parts(block int) []Part
	// Print prints all that was measured.
	Print(out io.Writer)
	io.Closer
}

// Main opens a benchmark, measures, and prints what was measured, before an error, too. It ends when
// the user interrupts it, and exits with 1 after an error.
func Main[B Benchmark](name string, s Settings, open func(context.Context, *slog.Logger) (B, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a member
	if err := measure(ctx, s, open); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func measure[B Benchmark](ctx context.Context, s Settings, open func(context.Context, *slog.Logger) (B, error)) (err error) {
	Progress("starting containerd and a control plane")
	b, err := open(ctx, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	defer func() { b.Print(os.Stdout) }()
	return blocks(ctx, s, b.Parts)
}

// Part is what one side measures in a block.
type Part struct {
	Name    string
	Measure func(context.Context) error
}

// blocks measures the parts of all blocks, or those of one side only.
func blocks(ctx context.Context, s Settings, parts func(block int) []Part) error {
	if sides := names(parts(0)); s.only != "" && !slices.Contains(sides, s.only) {
		return fmt.Errorf("-only %s: want one of %s", s.only, strings.Join(sides, ", "))
	}
	for block := range s.blocks {
		for _, part := range parts(block) {
			if s.only != "" && s.only != part.Name {
				continue
			}
			Progress("block %d of %d: %s", block+1, s.blocks, part.Name)
			err := part.Measure(ctx)
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				return fmt.Errorf("block %d, %s: %w", block+1, part.Name, err)
			}
		}
	}
	return nil
}

func names(parts []Part) []string {
	var list []string
	for _, p := range parts {
		list = append(list, p.Name)
	}
	return list
}
