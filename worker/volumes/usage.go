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
	return Size{Bytes: u.bytes, Inodes: u.inodes}, nil
}

type usage struct {
	ctx    context.Context
	bytes  int64
	inodes int64
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
	u.bytes += own.Blocks * 512
	u.inodes++
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
	u.bytes += stat.Blocks * 512
	u.inodes++
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
