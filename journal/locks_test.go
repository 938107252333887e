package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/rootfolder"
)

// openFiles is how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestOneFile: whoever leads many pods has one file open for them, and none when the last is gone; each pod has a lock of its own.
func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	writers := Folder{Dir: dir}.Writers()
	before := openFiles(t)
	var list []*Writer
	for i := range 200 {
		w, err := writers.Create(Pod{UID: strconv.Itoa(i)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
	if files := openFiles(t) - before; files != 1 {
		t.Errorf("%d open files for %d pods", files, len(list))
	}
	for i, w := range list {
		if i%2 == 0 {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, w := range list {
		if living := read(t, dir, strconv.Itoa(i)).Living; living != (i%2 != 0) {
			t.Errorf("pod %d: living %t", i, living)
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	}
	if files := openFiles(t) - before; files != 0 {
		t.Errorf("%d open files after the last pod", files)
	}
}

// TestSecondWriter: a pod has one writer, whether the second is of the same process, with the same open file, or not.
func TestSecondWriter(t *testing.T) {
	folder := Folder{Dir: t.TempDir()}
	writers := folder.Writers()
	first, err := writers.Create(Pod{UID: "u"})
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*Writers{"same file": writers, "another file": folder.Writers()} {
		if _, err := other.Create(Pod{UID: "u"}); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := report(first, 1); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := create(t, folder.Dir, "u")
	if _, err := writers.Create(Pod{UID: "u"}); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("the first after it was handed over: %v", err)
	}
	if err := report(second, 1); err != nil {
		t.Error(err)
	}
}

// TestEarlierLock: a lifepod of before, which locks pod.json, leads its pod for readers, writers and whoever removes what is too old;
// the next one goes on with its journal.
func TestEarlierLock(t *testing.T) {
	folder := Folder{Dir: t.TempDir()}
	w := create(t, folder.Dir, "u")
	if err := errors.Join(report(w, 1), w.Close(), os.Remove(folder.lockPath())); err != nil {
		t.Fatal(err)
	}
	earlier, err := os.OpenFile(filepath.Join(folder.Dir, "u", podFile), os.O_RDWR, 0)
	if err == nil {
		err = unix.Flock(int(earlier.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !read(t, folder.Dir, "u").Living {
		t.Error("the pod has a lifepod")
	}
	if _, err := folder.Writers().Create(Pod{UID: "u"}); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a second writer: %v", err)
	}
	if err := folder.Sweep(time.Now().Add(time.Hour), Bounds{}); err != nil {
		t.Fatal(err)
	}
	if r := read(t, folder.Dir, "u"); len(r.Entries) != 1 {
		t.Errorf("%d entries", len(r.Entries))
	}
	if err := earlier.Close(); err != nil { // it has ended
		t.Fatal(err)
	}
	if read(t, folder.Dir, "u").Living {
		t.Error("the pod has no lifepod any more")
	}
	if err := report(create(t, folder.Dir, "u"), 1); err != nil {
		t.Fatal(err)
	}
	if r := read(t, folder.Dir, "u"); !r.Living || len(r.Entries) != 2 {
		t.Errorf("living %t, %d entries", r.Living, len(r.Entries))
	}
}

// TestWriterAwaitsRemoval: a pod that comes back while its folder is removed waits, and has a new one.
func TestWriterAwaitsRemoval(t *testing.T) {
	folder := Folder{Dir: t.TempDir()}
	if err := create(t, folder.Dir, "u").Close(); err != nil {
		t.Fatal(err)
	}
	dir, removing := folder.of("u"), folder.newLocks()
	if err := removing.take(dir); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*lockPause, func() {
		if err := errors.Join(os.RemoveAll(dir), removing.release(dir)); err != nil {
			t.Error(err)
		}
	})
	if err := report(create(t, folder.Dir, "u"), 1); err != nil {
		t.Fatal(err)
	}
	if r := read(t, folder.Dir, "u"); len(r.Entries) != 1 {
		t.Errorf("%d entries", len(r.Entries))
	}
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
