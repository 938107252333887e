package localdriver

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// What is mounted of volumes, or a block device, goes without a driver, even if a file system
// was left frozen; what was written stays.
func TestRelease(t *testing.T) {
	m := newMachine(t)
	m.create("a", 32*megabyte, false, nil)
	m.create("b", 32*megabyte, true, nil)
	file := filepath.Join(m.use("a", false), "file")
	write(t, file, []byte("content"))
	m.use("b", true)
	assert.Must(t, onFolder(filepath.Dir(file), func(fd int) error { return unix.IoctlSetInt(fd, freeze, 0) }))
	for range 2 {
		assert.Must(t, Release(filepath.Join(m.dir, "volumes")))
	}
	for _, id := range []string{"a", "b"} {
		m.detached(id)
	}
	m.use("a", false)
	contains(t, file, "content")
	assert.NoError(t, Release(filepath.Join(t.TempDir(), "none")))
}
