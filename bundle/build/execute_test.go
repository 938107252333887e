package main

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// What Go downloads is shown line by line, and nothing else of its output.
func TestDownloadsAreShown(t *testing.T) {
	var shown bytes.Buffer
	d := &transcript{downloads: &shown}
	for _, text := range []string{"go: down", "loading example.com/a v1.0.0\n# package\nx.go:1: bad\ngo: downloading ", "example.com/b v2.0.0\n"} {
		if n, err := d.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write(%q): %d, %v", text, n, err)
		}
	}
	assert.Deep(t, "shown", "go: downloading example.com/a v1.0.0\ngo: downloading example.com/b v2.0.0\n", shown.String())
}

// The packages that Go compiles are counted; the rest of what it prints is kept for the error.
func TestPackagesAreCounted(t *testing.T) {
	d := &transcript{downloads: io.Discard, packages: true}
	for _, text := range []string{"internal/goarch\ngithub.com/opencontainers", "/runc\n# example.com/a\na/x.go:1:2: bad\n", "sync\nld: no memory\n", "exit"} {
		if n, err := d.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write(%q): %d, %v", text, n, err)
		}
	}
	assert.Deep(t, "packages counted", int64(3), d.compiled.Load())
	assert.Deep(t, "kept", "# example.com/a\na/x.go:1:2: bad\nld: no memory\nexit", d.all.String())
}

func TestFailureSaysAll(t *testing.T) {
	err := execute(exec.CommandContext(t.Context(), "sh", "-c", "echo out; echo err >&2; exit 3"), t.TempDir(), "build it")
	if err == nil || !strings.Contains(err.Error(), "build it: exit status 3\n") || !strings.Contains(err.Error(), "out") || !strings.Contains(err.Error(), "err") {
		t.Errorf("error: %v", err)
	}
}
