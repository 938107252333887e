// Command build makes the runtime that lifepod carries: containerd, its runc
// shim, runc, the CNI plugins and the two images, compressed into
// bundle/assets/runtime.tar.zst with bundle/assets/manifest.json beside it, and the
// program of clusters in cluster.tar.zst.
//
// Run it from the repository's root as `go run ./bundle/build`. When nothing
// it reads has changed since the last run it does nothing.
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
	"time"
)

func main() {
	force := flag.Bool("force", false, "build even when nothing has changed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *force); err != nil {
		fmt.Fprintf(os.Stderr, "bundle/build: %v\n", err)
		os.Exit(1)
	}
}

// run builds the assets below the working directory, which must be the
// repository's root.
func run(ctx context.Context, force bool) error {
	t, err := newTree(".")
	if err != nil {
		return err
	}
	stamp, err := t.stamp(ctx)
	if err != nil {
		return err
	}
	if force || !t.upToDate(stamp) {
		if err := t.buildRuntime(ctx, stamp); err != nil {
			return err
		}
	}
	return t.buildCluster(ctx)
}

func (t tree) buildRuntime(ctx context.Context, stamp string) error {
	started := time.Now()
	if err := t.compile(ctx); err != nil {
		return err
	}
	if err := t.writeImages(); err != nil {
		return err
	}
	size, err := t.runtimePacking().archive()
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.stampFile(), []byte(stamp), 0o644); err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	slog.Info("built the bundled runtime", "bytes", size, "seconds", int(time.Since(started).Seconds()))
	return nil
}

// tree knows where the sources, the intermediate files and the assets are.
type tree struct {
	root string
}

func newTree(dir string) (tree, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return tree{}, err
	}
	if _, err := os.Stat(filepath.Join(root, "bundle", "runtime", "go.mod")); err != nil {
		return tree{}, errors.New("run this from the root of the repository: bundle/runtime/go.mod is not below the working directory")
	}
	return tree{root: root}, nil
}

// module is the Go module that pins what is bundled.
func (t tree) module() string { return filepath.Join(t.root, "bundle", "runtime") }

// work holds what is built before it is packed: the archive's contents.
func (t tree) work() string { return filepath.Join(t.root, ".cache", "bundle") }

func (t tree) assets() string    { return filepath.Join(t.root, "bundle", "assets") }
func (t tree) stampFile() string { return filepath.Join(t.root, ".cache", "bundle.stamp") }
