package volumes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	outside, file := precious(t)
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	usage := func() int64 {
		t.Helper()
		bytes, err := Usage(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	empty := usage()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "data"), make([]byte, 256<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	written := usage()
	if grown := written - empty; grown < 256<<10 || grown > 300<<10 {
		t.Errorf("B-LST-1 a file of 256 KiB adds %d bytes", grown)
	}
	// What adds nothing: a second name, holes, links out, another file system, special files.
	errs := []error{
		os.Link(filepath.Join(deep, "data"), filepath.Join(dir, "again")),
		os.WriteFile(filepath.Join(dir, "holes"), nil, 0o600), os.Truncate(filepath.Join(dir, "holes"), 1<<40),
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Mkdir(filepath.Join(dir, "mount"), 0o700), unix.Mount("tmpfs", filepath.Join(dir, "mount"), "tmpfs", 0, ""),
		os.WriteFile(filepath.Join(dir, "mount", "data"), make([]byte, 1<<20), 0o600),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	}
	defer func() { _ = unix.Unmount(filepath.Join(dir, "mount"), unix.MNT_DETACH) }()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if grown := usage() - written; grown > 32<<10 {
		t.Errorf("links, holes and mounts add %d bytes", grown)
	}
	if got, err := Usage(t.Context(), filepath.Join(dir, "none")); got != 0 || err != nil {
		t.Errorf("a folder that is not there: %d, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Usage(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestUsageUnderAttack: folders that are swapped for links meanwhile are no error
// and don't lead out.
func TestUsageUnderAttack(t *testing.T) {
	volume := t.TempDir()
	outside, file := precious(t)
	if err := os.WriteFile(file, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := swapper(t, volume, outside)
	defer stop()
	for range 300 {
		if bytes, err := Usage(t.Context(), volume); err != nil || bytes > 1<<20 {
			t.Fatalf("%d bytes, %v", bytes, err)
		}
	}
}
