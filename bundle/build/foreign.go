package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/lifepod/lifepod/bundle/manifest"
)

// architecture is one as Go and Debian call it.
type architecture string

// triplets are what GNU's tools call the architectures that lifepod is built for.
var triplets = map[architecture]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// The library that runc is linked with, for another architecture.
const (
	foreignSuite   = "bookworm"
	foreignLibrary = "libseccomp-dev"
)

// foreign says whether programs for it can't be run here.
func (a architecture) foreign() bool { return string(a) != runtime.GOARCH }

func (a architecture) compiler() string {
	if a.foreign() {
		return triplets[a] + "-gcc"
	}
	return cmp.Or(os.Getenv("CC"), "gcc")
}

// environment makes Go and pkg-config build for it, with the libraries below sysroot.
func (a architecture) environment(sysroot string) []string {
	if !a.foreign() {
		return nil
	}
	return []string{
		"GOARCH=" + string(a), "CC=" + a.compiler(), "PKG_CONFIG_SYSROOT_DIR=" + sysroot,
		"PKG_CONFIG_LIBDIR=" + filepath.Join(sysroot, "usr", "lib", triplets[a], "pkgconfig"),
	}
}

// sysroot has the libraries for another architecture. To install them would change which
// packages this machine knows.
func (t tree) sysroot() string { return filepath.Join(t.cache(), "sysroot-"+foreignSuite) }

func (t tree) makeSysroot(ctx context.Context) error {
	if !t.arch.foreign() {
		return nil
	}
	if _, err := os.Stat(t.sysroot()); err == nil {
		return nil
	}
	part := t.sysroot() + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(t.cache(), 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mmdebstrap", "--variant=extract", "--architectures="+string(t.arch), "--include="+foreignLibrary,
		"--format=directory", foreignSuite, part)
	if err := execute(cmd, t.root, "unpack "+foreignLibrary+" for "+string(t.arch)); err != nil {
		return err
	}
	return os.Rename(part, t.sysroot())
}

// writeForeignOverlay writes what `go build` takes to embed the assets for another
// architecture in place of this machine's.
func (t tree) writeForeignOverlay() error {
	replace := map[string]string{}
	for _, name := range []string{manifest.Name, manifest.ArchiveName, manifest.ClusterName, manifest.ClusterArchiveName} {
		replace[filepath.Join(t.root, embedded, name)] = filepath.Join(t.assets(), name) // the documentation is the same
	}
	return writeOverlay(filepath.Join(t.cache(), "overlay.json"), replace)
}

// writeOverlay writes a file for the flag -overlay of `go build`.
func writeOverlay(path string, replace map[string]string) error {
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the overlay: %w", err)
	}
	return writeFile(path, append(text, '\n'))
}
