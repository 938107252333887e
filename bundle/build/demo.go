package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/lifepod/lifepod/bundle/manifest"
)

// demoPackage is the program of `make demo`.
const demoPackage = "./cmd/lifepod-demo"

// demo is the tree of `make demo`.
type demo struct{ tree }

// build builds the runtime, and beside it the packages of the demo's program, so that
// all there is left to do is to link it with the archive.
func (d demo) build(ctx context.Context, stamp string) error {
	if err := d.writeOverlay(""); err != nil {
		return err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return d.buildRuntime(ctx, stamp) })
	both.Go(func() error { return d.compile(ctx) })
	if err := both.Wait(); err != nil {
		return err
	}
	p := d.runtimePacking()
	if same, err := p.isPacked(); err != nil {
		return err
	} else if !same {
		p = d.packing()
		if err := p.pack(); err != nil {
			return err
		}
	}
	return d.writeOverlay(p.to)
}

// packing is the runtime's, packed in a second: nobody copies the demo's program.
func (d demo) packing() packing {
	p := d.runtimePacking()
	p.to, p.level = filepath.Join(d.folder(), "assets"), zstd.SpeedFastest
	return p
}

func (d demo) folder() string  { return filepath.Join(d.cache(), "demo") }
func (d demo) overlay() string { return filepath.Join(d.folder(), "overlay.json") }

// compile compiles the packages of the demo's program, and does not link it.
func (d demo) compile(ctx context.Context) error {
	say("compiling the packages of lifepod run")
	cmd := exec.CommandContext(ctx, "go", "list", "-trimpath", "-overlay", d.overlay(), "-export", "-deps", "-f", "{{/* nothing */}}", demoPackage)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return execute(cmd, d.root, "build the packages of "+demoPackage)
}

// writeOverlay writes what `go build` takes to see the runtime that is packed in a
// folder, or none, no documentation, and no program of clusters: one that was built before may be older
// than the runtime.
func (d demo) writeOverlay(packed string) error {
	replace := map[string]string{}
	for _, name := range []string{manifest.ClusterName, manifest.ClusterArchiveName, manifest.DocsName, manifest.DocsArchiveName} {
		replace[filepath.Join(d.assets(), name)] = "" // there is no such file
	}
	for _, name := range []string{manifest.Name, manifest.ArchiveName} {
		file := ""
		if packed != "" {
			file = filepath.Join(packed, name)
		}
		replace[filepath.Join(d.assets(), name)] = file
	}
	return writeOverlay(d.overlay(), replace)
}
