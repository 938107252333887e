package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// sources are the files that decide what is built: the pinned versions and
// this command. A version of Kubernetes names its dependencies itself.
func (t target) sources() []string {
	own := filepath.Join("e2e", "controlplane", "build")
	if t.version != "" {
		return []string{filepath.Join(own, "main.go"), filepath.Join(own, "version.go")}
	}
	return []string{filepath.Join(t.module, "go.mod"), filepath.Join(t.module, "go.sum"), filepath.Join(own, "main.go")}
}

// stamp is a digest of the sources, the version and the tool chain.
func (t target) stamp(ctx context.Context) (string, error) {
	h := sha256.New()
	for _, path := range t.sources() {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("run this from the root of the repository: %w", err)
		}
		h.Write(text)
	}
	_, _ = io.WriteString(h, t.version) // never fails
	toolchain, err := run(ctx, ".", "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x %s\n", h.Sum(nil), toolchain), nil
}

func (t target) stampFile() string { return filepath.Join(t.folder, t.name+".stamp") }

// upToDate says whether every program was built from what stamp describes.
func (t target) upToDate(stamp string) bool {
	have, err := os.ReadFile(t.stampFile())
	if err != nil || string(have) != stamp {
		return false
	}
	for _, pkg := range t.packages {
		if _, err := os.Stat(filepath.Join(t.folder, "bin", program(pkg))); err != nil {
			return false
		}
	}
	return true
}
