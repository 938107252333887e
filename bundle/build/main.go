package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lifepod/lifepod/bundle/manifest"
)

func main() {
	arch := flag.String("arch", runtime.GOARCH, "the architecture: amd64 or arm64")
	forDemo := flag.Bool("demo", false, "build the runtime alone, without the program of clusters")
	site := flag.String("site", "", "pack this `folder`, the site that make site builds, and nothing else")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	build := func() error { return run(ctx, *arch, *forDemo) }
	if *site != "" {
		build = packing{
			from: *site, to: embedded, folders: []string{"."},
			archiveName: manifest.DocsArchiveName, manifestName: manifest.DocsName, level: zstd.SpeedBestCompression,
		}.pack
	}
	if err := build(); err != nil {
		fmt.Fprintf(os.Stderr, "bundle/build: %v\n", err)
		os.Exit(1)
	}
}

// run builds the assets below the working directory, which must be the
// repository's root.
func run(ctx context.Context, arch string, forDemo bool) error {
	t, err := newTree(".", architecture(arch))
	if err != nil {
		return err
	}
	stamp, err := t.stamp(ctx)
	if err != nil {
		return err
	}
	if forDemo {
		return demo{t}.build(ctx, stamp)
	}
	if err := t.buildRuntime(ctx, stamp); err != nil {
		return err
	}
	if err := t.runtimePacking().pack(); err != nil {
		return err
	}
	if err := t.buildCluster(ctx); err != nil || !t.arch.foreign() {
		return err
	}
	return t.writeForeignOverlay()
}

// buildRuntime makes the contents of the runtime's archive, unless that was done before.
func (t tree) buildRuntime(ctx context.Context, stamp string) error {
	if t.upToDate(stamp) {
		return nil
	}
	started := time.Now()
	if err := t.compile(ctx); err != nil {
		return err
	}
	if err := t.writeImages(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(t.stampFile(), []byte(stamp), 0o644); err != nil {
		return fmt.Errorf("write stamp: %w", err)
	}
	say("built the runtime in %d s", int(time.Since(started).Seconds()))
	return nil
}

// tree knows where the sources, the intermediate files and the assets are.
type tree struct {
	root string
	arch architecture
}

func newTree(dir string, arch architecture) (tree, error) {
	if _, known := triplets[arch]; !known {
		return tree{}, fmt.Errorf("the runtime can't be built for architecture %q, only for amd64 and arm64", arch)
	}
	root, err := filepath.Abs(dir)
	if err != nil {
		return tree{}, err
	}
	if _, err := os.Stat(filepath.Join(root, "bundle", "runtime", "go.mod")); err != nil {
		return tree{}, errors.New("run this from the root of the repository: bundle/runtime/go.mod is not below the working directory")
	}
	return tree{root: root, arch: arch}, nil
}

// module is the Go module that pins what is bundled.
func (t tree) module() string { return filepath.Join(t.root, "bundle", "runtime") }

// work holds what is built before it is packed: the archive's contents.
func (t tree) work() string { return filepath.Join(t.cache(), "bundle") }

func (t tree) cluster() string   { return filepath.Join(t.cache(), "cluster") }
func (t tree) stampFile() string { return filepath.Join(t.cache(), "bundle.stamp") }

func (t tree) cache() string {
	if t.arch.foreign() {
		return filepath.Join(t.root, ".cache", string(t.arch))
	}
	return filepath.Join(t.root, ".cache")
}

func (t tree) assets() string {
	if t.arch.foreign() {
		return filepath.Join(t.cache(), "assets")
	}
	return filepath.Join(t.root, embedded)
}

// embedded is the folder that is embedded into lifepod.
const embedded = "bundle/assets"
