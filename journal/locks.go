//go:build linux

package journal

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// lockSuffix names the file beside a journal that has the locks of its pods: one that removes what is too old in the journal
// can't remove it.
const lockSuffix = ".lock"

// locks are those that a process has of a journal's pods. A pod's lock is one byte of a file that all processes share, at a place
// that follows from the pod's UID, so that a process has one file open however many pods it leads. The file stays empty, and is
// never removed. The kernel releases the locks of a process that dies.
//
// They belong to the open file (F_OFD_SETLK): also within a process, only one of several locks has a pod.
type locks struct {
	path string

	mu   sync.Mutex
	file *os.File       // nil: no pod is locked
	held map[int64]bool // places; the kernel would give them again to the same open file
}

// newLocks are the locks of a journal, none of which is held.
func (f Folder) newLocks() *locks { return &locks{path: f.lockPath(), held: map[int64]bool{}} }

func (f Folder) lockPath() string { return filepath.Clean(f.Dir) + lockSuffix }

// placeOf is where the lock of a pod is. That two of a million pods have the same is less likely than one in a million.
func placeOf(dir string) int64 {
	const places = 1 << 62
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, filepath.Base(dir)) // never fails
	return int64(hash.Sum64() % places)
}

// lock is a request for the byte at a place.
func lock(kind int16, place int64) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: place, Len: 1}
}

// take locks the pod of a folder. If another has it, errors.Is(err, unix.EWOULDBLOCK) holds.
func (l *locks) take(dir string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := placeOf(dir)
	if l.held[place] {
		return unix.EWOULDBLOCK
	}
	if l.file == nil {
		file, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		l.file = file
	}
	if err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, lock(unix.F_WRLCK, place)); err != nil {
		return errors.Join(err, l.closeUnused())
	}
	l.held[place] = true
	return nil
}

// release gives back what was taken.
func (l *locks) release(dir string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := placeOf(dir)
	err := unix.FcntlFlock(l.file.Fd(), unix.F_OFD_SETLK, lock(unix.F_UNLCK, place))
	delete(l.held, place)
	return errors.Join(err, l.closeUnused())
}

func (l *locks) closeUnused() error {
	if len(l.held) > 0 {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// locked says whether a lifepod leads the pod of a folder.
func (f Folder) locked(dir string) (bool, error) {
	file, err := os.Open(f.lockPath())
	if err == nil {
		defer func() { _ = file.Close() }() // which has no lock
		asked := lock(unix.F_WRLCK, placeOf(dir))
		if err = unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, asked); err == nil && asked.Type != unix.F_UNLCK {
			return true, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // nobody has written yet
		return false, fmt.Errorf("lock of %s: %w", dir, err)
	}
	return false, nil
}
