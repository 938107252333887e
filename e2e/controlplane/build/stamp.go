package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// sources are the files that decide what is built: the pinned versions and
// this command.
var sources = []string{
	filepath.Join(module, "go.mod"),
	filepath.Join(module, "go.sum"),
	filepath.Join("e2e", "controlplane", "build", "main.go"),
}

// stamp is a digest of the sources and the tool chain.
func (t target) stamp(ctx context.Context) (string, error) {
	h := sha256.New()
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("run this from the root of the repository: %w", err)
		}
		h.Write(text)
	}
	toolchain, err := run(ctx, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %s\n", h.Sum(nil), toolchain), nil
}

func (t target) stampFile() string { return filepath.Join(cache, t.name+".stamp") }

// upToDate says whether every program was built from what stamp describes.
func (t target) upToDate(stamp string) bool {
	have, err := os.ReadFile(t.stampFile())
	if err != nil || string(have) != stamp {
		return false
	}
	for _, pkg := range t.packages {
		if _, err := os.Stat(filepath.Join(cache, "bin", program(pkg))); err != nil {
			return false
		}
	}
	return true
}
