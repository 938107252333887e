package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stamp is a digest of all that decides what the assets contain: the module
// with its sources, this builder, and the tool chain.
func (t tree) stamp(ctx context.Context) (string, error) {
	h := sha256.New()
	for _, dir := range []string{t.module(), filepath.Join(t.root, "bundle", "build")} {
		if err := hashTree(h, t.root, dir); err != nil {
			return "", fmt.Errorf("stamp %s: %w", dir, err)
		}
	}
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "CC")
	cmd.Dir, cmd.Env = t.module(), append(os.Environ(), t.arch.environment(t.sysroot())...)
	toolchain, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("stamp the tool chain: %w", err)
	}
	h.Write(toolchain)
	return fmt.Sprintf("%x\n", h.Sum(nil)), nil
}

func hashTree(h io.Writer, root, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(h, "%s\n", name)
		_, err = io.Copy(h, f)
		return err
	})
}

// upToDate says whether the work folder has what was made from what stamp describes.
func (t tree) upToDate(stamp string) bool {
	have, err := os.ReadFile(t.stampFile())
	if err != nil || string(have) != stamp {
		return false
	}
	_, err = os.Stat(t.carriedImages()) // the last that is made
	return err == nil
}
