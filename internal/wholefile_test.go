package internal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
	"github.com/lifepod/lifepod/internal/wholefile"
)

func TestWholeFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	assert.Must(t, os.WriteFile(path, []byte("the old content, which is longer"), 0o644))
	assert.Must(t, wholefile.Write(path, []byte("new")))
	text, err := os.ReadFile(path)
	assert.True(t, err == nil && string(text) == "new", "content %q, %v", text, err)
	info, err := os.Stat(path)
	assert.True(t, err == nil && info.Mode() == 0o600, "mode %v, %v; want 0600", info.Mode(), err)
}

// What can't be written leaves the old content, and nothing beside it.
func TestWholeFileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	assert.Must(t, os.MkdirAll(filepath.Join(path, "full"), 0o700))
	assert.Fails(t, wholefile.Write(path, []byte("new")), "a folder was replaced by a file")
	entries, err := os.ReadDir(dir)
	assert.True(t, err == nil && len(entries) == 1, "left: %v, %v", entries, err)
}

// What Write has written is there after a power cut, the name included.
func TestWholeFileSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	folder := filepath.Join(disk.Dir, "folder")
	assert.Must(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "file")
	for _, content := range []string{"the first content", "the second one, which replaces it"} {
		disk.Settle()
		assert.Must(t, wholefile.Write(path, []byte(content)))
		disk.Cut()
		text, err := os.ReadFile(path)
		assert.True(t, err == nil && string(text) == content, "after a power cut: %q, %v; want %q", text, err, content)
	}
}
