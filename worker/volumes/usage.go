package volumes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Usage is the disk space in bytes that a folder and everything in it take, as du
// counts: blocks, hard links once, nothing of other file systems. What vanishes
// meanwhile takes none, and so does a folder that is not there.
func Usage(ctx context.Context, dir string) (int64, error) {
	size, err := Measure(ctx, dir)
	return size.Bytes, err
}

// Size is what a folder and everything in it take.
type Size struct {
	Bytes  int64
	Inodes int64
}

// Measure is Usage that also counts inodes.
func Measure(ctx context.Context, dir string) (Size, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return Size{}, nil
	}
	if err != nil {
		return Size{}, fmt.Errorf("measure %s: %w", dir, err)
	}
	u := usage{ctx: ctx, linked: map[uint64]bool{}}
	if err := u.folder(os.NewFile(uintptr(fd), dir), 0); err != nil {
		return Size{}, fmt.Errorf("measure %s: %w", dir, err)
	}
	return u.Size, nil
}

type usage struct {
	Size
	ctx    context.Context
	linked map[uint64]bool // inodes with several links that were counted
}

// folder adds a folder and closes it. Containers can't lead it elsewhere: each
// folder is opened in the one before, and links are not followed.
func (u *usage) folder(dir *os.File, depth int) error {
	if depth == maxOpenFolders {
		return u.deepFolder(dir)
	}
	defer func() { _ = dir.Close() }()
	return u.list(dir, func(name string) error {
		inner, err := openFolder(dir, name)
		if inner == nil {
			return err
		}
		return u.folder(inner, depth+1)
	})
}

// list adds a folder and all that is in it but folders, which it calls in for.
func (u *usage) list(dir *os.File, in func(name string) error) error {
	if err := u.ctx.Err(); err != nil {
		return err
	}
	var own unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &own); err != nil {
		return err
	}
	u.Bytes += own.Blocks * 512
	u.Inodes++
	for {
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			isFolder, err := u.entry(dir, name)
			if err == nil && isFolder {
				err = in(name)
			}
			if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// entry adds what is in a folder, unless it is one itself.
func (u *usage) entry(dir *os.File, name string) (isFolder bool, err error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, ignoreVanished(err)
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return true, nil
	}
	if stat.Nlink > 1 {
		if u.linked[stat.Ino] {
			return false, nil
		}
		u.linked[stat.Ino] = true
	}
	u.Bytes += stat.Blocks * 512
	u.Inodes++
	return false, nil
}

// openFolder opens a folder in another, nil if it is none any more.
func openFolder(dir *os.File, name string) (*os.File, error) {
	how := &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH,
	}
	fd, err := unix.Openat2(int(dir.Fd()), name, how)
	if err != nil {
		return nil, ignoreVanished(err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// ignoreVanished forgives what changed between being listed and being looked at,
// and mounts, which are not the volume's.
func ignoreVanished(err error) error {
	for _, fine := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	return err
}

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
