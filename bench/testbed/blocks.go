package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Main runs a benchmark until it has ended or the user interrupts it, and exits with 1
// after an error.
func Main(name string, measure func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(logr.Discard()) // it would tell of connections that end with a member
	if err := measure(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Part is what one side measures in a block.
type Part struct {
	Name    string
	Measure func(context.Context) error
}

// Blocks measures the parts of so many blocks, one after the other; of all parts, or of
// those that are named only.
func Blocks(ctx context.Context, count int, only string, parts func(block int) []Part) error {
	for block := range count {
		for _, part := range parts(block) {
			if only != "" && only != part.Name {
				continue
			}
			Progress("block %d of %d: %s", block+1, count, part.Name)
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
