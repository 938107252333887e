package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
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
	if want := "go: downloading example.com/a v1.0.0\ngo: downloading example.com/b v2.0.0\n"; shown.String() != want {
		t.Errorf("shown: %q, want %q", shown.String(), want)
	}
}

func TestFailureSaysAll(t *testing.T) {
	err := execute(exec.CommandContext(t.Context(), "sh", "-c", "echo out; echo err >&2; exit 3"), t.TempDir(), "build it")
	if err == nil || !strings.Contains(err.Error(), "build it: exit status 3\n") || !strings.Contains(err.Error(), "out") || !strings.Contains(err.Error(), "err") {
		t.Errorf("error: %v", err)
	}
}
