package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	outside, file := precious(t)
	assert.Must(t, os.WriteFile(file, make([]byte, 1<<20), 0o600))
	usage := func() int64 {
		t.Helper()
		return assert.Get(Usage(t.Context(), dir)).Must(t)
	}
	empty := usage()
	deep := filepath.Join(dir, "a", "b")
	assert.Must(t, os.MkdirAll(deep, 0o700))
	assert.Must(t, os.WriteFile(filepath.Join(deep, "data"), make([]byte, 256<<10), 0o600))
	written := usage()
	grown := written - empty
	assert.True(t, grown >= 256<<10 && grown <= 300<<10, "B-LST-1 a file of 256 KiB adds %d bytes", grown)
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
	assert.Must(t, errors.Join(errs...))
	grown = usage() - written
	assert.True(t, grown <= 32<<10, "links, holes and mounts add %d bytes", grown)
	got, err := Usage(t.Context(), filepath.Join(dir, "none"))
	assert.True(t, got == 0 && err == nil, "a folder that is not there: %d, %v", got, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, context.Canceled, assert.ErrorOf(Usage(ended, dir)), "cancelled")
}

// TestUsageUnderAttack: folders that are swapped for links meanwhile are no error
// and don't lead out.
func TestUsageUnderAttack(t *testing.T) {
	volume := t.TempDir()
	outside, file := precious(t)
	assert.Must(t, os.WriteFile(file, make([]byte, 4<<20), 0o600))
	stop := swapper(t, volume, outside)
	defer stop()
	for range 300 {
		bytes, err := Usage(t.Context(), volume)
		assert.Require(t, err == nil && bytes <= 1<<20, "%d bytes, %v", bytes, err)
	}
}

// B-LST-1: a container does not escape its limits, nor take lifepod's file
// descriptors, by folders that are deeper in each other than files can be open.
func TestUsageOfDeepTree(t *testing.T) {
	const depth = 3 * maxOpenFolders
	dir := t.TempDir()
	at, err := os.Open(dir)
	for range depth {
		assert.Must(t, err)
		for _, name := range []string{"a", "b"} {
			assert.Must(t, unix.Mkdirat(int(at.Fd()), name, 0o700))
		}
		var fd int
		fd, err = unix.Openat(int(at.Fd()), "a", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = at.Close()
		at = os.NewFile(uintptr(fd), "a")
	}
	defer func() { _ = at.Close() }()
	fd := assert.Get(unix.Openat(int(at.Fd()), "data", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)).Must(t)
	data := os.NewFile(uintptr(fd), "data")
	assert.Must(t, assert.ErrorOf(data.Write(make([]byte, 256<<10))))
	assert.Must(t, data.Close())
	want := assert.Get(exec.Command("du", "-s", "--block-size=1", dir).Output()).Must(t)
	before, most := openFiles(t), 0
	got, err := Usage(counting{t.Context(), func() { most = max(most, openFiles(t)) }}, dir)
	size, _, _ := strings.Cut(string(want), "\t")
	assert.True(t, err == nil && fmt.Sprint(got) == size, "%d bytes, %v, want %s as du has it", got, err, size)
	assert.True(t, most-before <= maxOpenFolders+10, "%d files open at a time", most-before)
}

// counting calls look for each folder.
type counting struct {
	context.Context
	look func()
}

func (c counting) Err() error {
	c.look()
	return c.Context.Err()
}

func openFiles(t *testing.T) int {
	t.Helper()
	open := assert.Get(os.ReadDir("/proc/self/fd")).Must(t)
	return len(open)
}
