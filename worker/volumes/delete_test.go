package volumes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Delete refuses a folder in which something is mounted before it deletes anything,
// and follows no link.
func TestDeleteStaysInTheFolder(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "volume"), t.TempDir()
	inside, precious := filepath.Join(dir, "a"), filepath.Join(other, "precious")
	for _, d := range []string{inside, filepath.Join(dir, "mnt")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(other, filepath.Join(dir, "mnt"), "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(dir, "mnt"), unix.MNT_DETACH) })
	if err := Delete(dir); err == nil || !strings.Contains(err.Error(), "something is mounted at "+filepath.Join(dir, "mnt")) {
		t.Errorf("err %v, want it to name the mount", err)
	}
	if _, err := os.Stat(inside); err != nil {
		t.Errorf("it has deleted what it could: %v", err)
	}
	if err := unix.Unmount(filepath.Join(dir, "mnt"), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a folder that is gone is no error
		if err := Delete(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder: %v, want none", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("what a link and a mount led to: %v", err)
	}
}
