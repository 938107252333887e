package localdriver

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
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
	if err := onFolder(filepath.Dir(file), func(fd int) error { return unix.IoctlSetInt(fd, freeze, 0) }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Release(filepath.Join(m.dir, "volumes")); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b"} {
		m.detached(id)
	}
	m.use("a", false)
	contains(t, file, "content")
	if err := Release(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Error(err)
	}
}
