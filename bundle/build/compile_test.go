package main

import (
	"bytes"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestBatches: each program is made once, without cgo or with it as it says, and none is
// written over another.
func TestBatches(t *testing.T) {
	list := binaries("v1.2.3")
	var made []string
	for _, b := range batches(list) {
		names := map[string]bool{}
		for _, p := range b.programs {
			assert.True(t, p.cgo == b.cgo, "%s is built with the others that have cgo = %t", p.pkg, b.cgo)
			assert.True(t, !names[path.Base(p.pkg)], "%s is written over another program", p.pkg)
			names[path.Base(p.pkg)] = true
			assert.True(t, !p.cgo || b.tags() == strings.Join(slices.Sorted(strings.FieldsSeq(p.tags)), ","), "%s is built with the tags %s, want its own: %s", p.pkg, b.tags(), p.tags)
			made = append(made, p.pkg)
		}
	}
	var want []string
	for _, p := range list {
		want = append(want, p.pkg)
	}
	slices.Sort(want)
	slices.Sort(made)
	assert.True(t, slices.Equal(made, want), "built: %v, want %v", made, want)
}

// TestBatchArguments: programs that are built together keep their own flags for the linker.
func TestBatchArguments(t *testing.T) {
	b := batch{programs: []binary{
		{pkg: "example.com/a", out: "bin/a", tags: "y x", ldflags: "-X main.v=1"}, {pkg: "example.com/b", out: "b", tags: "x z"},
	}}
	want := "build -v -trimpath -buildvcs=false -tags x,y,z -o to/ " +
		"-ldflags=example.com/a=-s -w -X main.v=1 -ldflags=example.com/b=-s -w  example.com/a example.com/b"
	got := strings.Join(b.arguments("to"), " ")
	assert.True(t, got == want, "go %s,\nwant %s", got, want)
}

// What Go downloads is shown line by line, and nothing else of its output.
func TestDownloadsAreShown(t *testing.T) {
	var shown bytes.Buffer
	d := &transcript{downloads: &shown}
	for _, text := range []string{"go: down", "loading example.com/a v1.0.0\n# package\nx.go:1: bad\ngo: downloading ", "example.com/b v2.0.0\n"} {
		n, err := d.Write([]byte(text))
		assert.Require(t, n == len(text) && err == nil, "Write(%q): %d, %v", text, n, err)
	}
	assert.Deep(t, "shown", "go: downloading example.com/a v1.0.0\ngo: downloading example.com/b v2.0.0\n", shown.String())
}

// The packages that Go compiles are counted; the rest of what it prints is kept for the error.
func TestPackagesAreCounted(t *testing.T) {
	d := &transcript{downloads: io.Discard, packages: true}
	for _, text := range []string{"internal/goarch\ngithub.com/opencontainers", "/runc\n# example.com/a\na/x.go:1:2: bad\n", "sync\nld: no memory\n", "exit"} {
		n, err := d.Write([]byte(text))
		assert.Require(t, n == len(text) && err == nil, "Write(%q): %d, %v", text, n, err)
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
