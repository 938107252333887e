package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestPack: what is packed already is not packed again, and what has changed is.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	p := packing{
		from: filepath.Join(dir, "from"), to: filepath.Join(dir, "to"), folders: []string{"bin"},
		archiveName: "a.tar.zst", manifestName: "a.json", level: zstd.SpeedFastest,
	}
	archive := filepath.Join(p.to, p.archiveName)
	pack := func(content string) (changed bool) {
		t.Helper()
		assert.Must(t, writeFile(filepath.Join(p.from, "bin", "program"), []byte(content)))
		before, _ := os.Stat(archive) // the first time there is none
		assert.Must(t, p.pack())
		after := assert.Get(os.Stat(archive)).Must(t)
		return before == nil || !before.ModTime().Equal(after.ModTime())
	}
	for i, want := range []struct {
		content string
		packed  bool
	}{{"one", true}, {"one", false}, {"two", true}, {"two", false}} {
		assert.Deep(t, fmt.Sprintf("%d: %q: packed", i, want.content), want.packed, pack(want.content))
	}
	assert.Must(t, os.Remove(archive))
	assert.True(t, pack("two"), "without an archive nothing is packed")
}
