package volumes

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// Delete refuses a folder in which something is mounted before it deletes anything,
// and follows no link.
func TestDeleteStaysInTheFolder(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "volume"), t.TempDir()
	inside, precious := filepath.Join(dir, "a"), filepath.Join(other, "precious")
	for _, d := range []string{inside, filepath.Join(dir, "mnt")} {
		assert.Must(t, os.MkdirAll(d, 0o700))
	}
	assert.Must(t, os.WriteFile(precious, nil, 0o600))
	assert.Must(t, os.Symlink(other, filepath.Join(dir, "link")))
	assert.Must(t, unix.Mount(other, filepath.Join(dir, "mnt"), "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, "mnt"), unix.MNT_DETACH) })
	assert.ErrorContains(t, "something is mounted at "+filepath.Join(dir, "mnt"), Delete(dir))
	assert.NoError(t, assert.ErrorOf(os.Stat(inside)), "it has deleted what it could")
	assert.Must(t, unix.Unmount(filepath.Join(dir, "mnt"), 0))
	for range 2 { // a folder that is gone is no error
		assert.Must(t, Delete(dir))
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder: %v, want none", err)
	}
	assert.NoError(t, assert.ErrorOf(os.Stat(precious)), "what a link and a mount led to")
}
