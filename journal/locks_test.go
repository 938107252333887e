package journal

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// openFiles is how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	files := assert.Get(os.ReadDir("/proc/self/fd")).Must(t)
	return len(files)
}

// TestOneFile: whoever leads many pods has one file open for them, and none when the last is gone; each pod has a lock of its own.
func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	writers := Folder{Dir: dir}.Writers()
	before := openFiles(t)
	var list []*Writer
	for i := range 200 {
		w := assert.Get(writers.Create(Pod{UID: strconv.Itoa(i)})).Must(t)
		list = append(list, w)
	}
	files := openFiles(t) - before
	assert.True(t, files == 1, "%d open files for %d pods", files, len(list))
	for i, w := range list {
		if i%2 == 0 {
			assert.Must(t, w.Close())
		}
	}
	for i, w := range list {
		assert.Equal(t, i%2 != 0, read(t, dir, strconv.Itoa(i)).Living, "pod %d: living", i)
		assert.NoError(t, errors.Join(w.Close(), w.Close()))
	}
	assert.Equal(t, 0, openFiles(t)-before, "open files after the last pod")
}

// TestSecondWriter: a pod has one writer, whether the second is of the same process, with the same open file, or not.
func TestSecondWriter(t *testing.T) {
	folder := Folder{Dir: t.TempDir()}
	writers := folder.Writers()
	first := assert.Get(writers.Create(Pod{UID: "u"})).Must(t)
	for name, other := range map[string]*Writers{"same file": writers, "another file": folder.Writers()} {
		assert.ErrorIs(t, unix.EWOULDBLOCK, assert.ErrorOf(other.Create(Pod{UID: "u"})), name)
	}
	assert.NoError(t, report(first, 1))
	assert.Must(t, first.Close())
	second := create(t, folder.Dir, "u")
	assert.ErrorIs(t, unix.EWOULDBLOCK, assert.ErrorOf(writers.Create(Pod{UID: "u"})), "the first after it was handed over")
	assert.NoError(t, report(second, 1))
}

// TestWriterAwaitsRemoval: a pod that comes back while its folder is removed waits, and has a new one.
func TestWriterAwaitsRemoval(t *testing.T) {
	folder := Folder{Dir: t.TempDir()}
	assert.Must(t, create(t, folder.Dir, "u").Close())
	dir, removing := folder.of("u"), folder.newLocks()
	assert.Must(t, removing.take(dir))
	time.AfterFunc(2*lockPause, func() {
		assert.NoError(t, errors.Join(os.RemoveAll(dir), removing.release(dir)))
	})
	assert.Must(t, report(create(t, folder.Dir, "u"), 1))
	r := read(t, folder.Dir, "u")
	assert.True(t, len(r.Entries) == 1, "%d entries", len(r.Entries))
}

// TestLockFile: the file with the locks is one that lifepod down --purge knows.
func TestLockFile(t *testing.T) {
	path := Folder{Dir: rootfolder.Journal.In("/root")}.lockPath()
	for _, e := range rootfolder.Entries() {
		if e.In("/root") == path {
			return
		}
	}
	t.Errorf("%s is no entry of a state folder", path)
}
