package volumes

import (
	"os"

	"golang.org/x/sys/unix"
)

// deepWalk adds a tree with two folders open at a time: a container may have made
// more of them, one in the other, than a process can open, and must not escape
// its limits so.
type deepWalk struct {
	*usage
	dir    *os.File // where it is
	levels []level  // down to there
}

// level is a folder that the walk comes back to.
type level struct {
	device, inode uint64
	folders       []string // in it, yet to be added
}

// deepFolder adds a folder that lies deep and closes it. A folder that is moved
// meanwhile ends the walk: what is left of the tree is not counted.
func (u *usage) deepFolder(dir *os.File) error {
	w := &deepWalk{usage: u}
	defer func() { _ = w.dir.Close() }() // only read
	err := w.enter(dir)
	for err == nil && len(w.levels) > 0 {
		here := &w.levels[len(w.levels)-1]
		n := len(here.folders)
		if n == 0 {
			if !w.leave() {
				return nil
			}
			continue
		}
		name := here.folders[n-1]
		here.folders = here.folders[:n-1]
		var inner *os.File
		if inner, err = openFolder(w.dir, name); inner != nil {
			err = w.enter(inner)
		}
	}
	return err
}

// enter goes down into a folder and adds what is in it.
func (w *deepWalk) enter(dir *os.File) error {
	if w.dir != nil {
		_ = w.dir.Close() // only read
	}
	w.dir = dir
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return err
	}
	here := level{device: stat.Dev, inode: stat.Ino}
	err := w.list(dir, func(name string) error {
		here.folders = append(here.folders, name)
		return nil
	})
	w.levels = append(w.levels, here)
	return err
}

// leave goes up to where it came from; false if that is the end, or if the folder
// is not there any more.
func (w *deepWalk) leave() bool {
	w.levels = w.levels[:len(w.levels)-1]
	if len(w.levels) == 0 {
		return true
	}
	fd, err := unix.Openat(int(w.dir.Fd()), "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_ = w.dir.Close() // only read
	w.dir = os.NewFile(uintptr(fd), "..")
	var stat unix.Stat_t
	back := w.levels[len(w.levels)-1]
	return unix.Fstat(fd, &stat) == nil && stat.Dev == back.device && stat.Ino == back.inode
}
