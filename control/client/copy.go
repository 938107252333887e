package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/rand"
)

const (
	// piece is how much is copied before the context is looked at.
	piece = 16 << 20
	// namesAtOnce bounds what of a folder is in memory: a container may make millions of files.
	namesAtOnce = 1000
)

// copying is one copy. Entries are named by their path below the one that is copied.
type copying struct {
	ctx  context.Context
	out  bool // of a container
	warn func(format string, args ...any)
	path string
	top  unix.Stat_t // the folder that gets the copy
}

// entry copies what is open as from, without being opened for reading, into a folder.
func (c *copying) entry(from, to *os.File, name, below string) error {
	var stat unix.Stat_t
	err := unix.Fstat(int(from.Fd()), &stat)
	if err == nil {
		err = c.ctx.Err()
	}
	if err == nil {
		switch stat.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			return c.folder(from, to, name, below, &stat)
		case unix.S_IFREG:
			err = c.file(from, to, name, stat.Mode&0o7777)
		case unix.S_IFLNK:
			err = c.link(from, to, name, below)
		default:
			c.leaveOut(below, "it is no file, folder or link")
		}
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", filepath.Join(c.path, below), err)
	}
	return nil
}

func (c *copying) leaveOut(below, because string) {
	c.warn("%s is left out: %s", filepath.Join(c.path, below), because)
}

func (c *copying) folder(from, to *os.File, name, below string, stat *unix.Stat_t) error {
	if stat.Dev == c.top.Dev && stat.Ino == c.top.Ino {
		return fmt.Errorf("copy %s: it has the folder that the copy is to be in", filepath.Join(c.path, below))
	}
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(from.Fd()), &system); err != nil {
		return err
	}
	if below != "" && (system.Type == unix.PROC_SUPER_MAGIC || system.Type == unix.SYSFS_MAGIC) {
		c.leaveOut(below, "the kernel makes up what is in it")
		return nil
	}
	made := unix.Mkdirat(int(to.Fd()), name, stat.Mode&0o777)
	if made != nil && !errors.Is(made, unix.EEXIST) {
		return fmt.Errorf("make the folder %s: %w", name, made)
	}
	into, err := openFile(int(to.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer into.Close()
	if made == nil && !c.out {
		if err := unix.Fchmod(int(into.Fd()), stat.Mode&0o7777); err != nil {
			return err
		}
	}
	list, err := openFile(int(from.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer list.Close()
	for {
		names, err := list.Readdirnames(namesAtOnce)
		for _, name := range names {
			if err := c.child(list, into, name, filepath.Join(below, name)); err != nil {
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

func (c *copying) child(folder, into *os.File, name, below string) error {
	from, err := openFile(int(folder.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer from.Close()
	return c.entry(from, into, name, below)
}

// file writes a file beside its place, so that its name never stands for half of it.
func (c *copying) file(from, to *os.File, name string, mode uint32) error {
	source, err := reopen(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return replace(to, name, func(unfinished string) error {
		fd, err := unix.Openat(int(to.Fd()), unfinished, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode&0o777)
		if err != nil {
			return err
		}
		target := os.NewFile(uintptr(fd), unfinished)
		for err == nil {
			if err = c.ctx.Err(); err == nil {
				_, err = io.CopyN(target, source, piece)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err == nil && !c.out {
			err = unix.Fchmod(fd, mode)
		}
		return errors.Join(err, target.Close())
	})
}

// link makes a link as it is; on this machine only one that stays in what is copied.
func (c *copying) link(from, to *os.File, name, below string) error {
	text := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(from.Fd()), "", text)
	if err != nil {
		return err
	}
	target := string(text[:n])
	if c.out && !staysBelow(below, target) {
		c.leaveOut(below, fmt.Sprintf("it is a link that leads elsewhere, to %s", target))
		return nil
	}
	return replace(to, name, func(unfinished string) error { return unix.Symlinkat(target, int(to.Fd()), unfinished) })
}

// staysBelow says whether a link at a path leads to where the path begins, or below. Any other link may be on its way: behind one ".."
// could be anywhere.
func staysBelow(path, target string) bool {
	return target == filepath.Clean(target) && filepath.IsLocal(filepath.Join(filepath.Dir(path), target)) && !filepath.IsAbs(target)
}

// replace has an entry made under a name of its own, which then becomes its own name. What is mounted there would vanish from the
// container: the kernel refuses this only where this process sees the mount, too.
func replace(folder *os.File, name string, fill func(unfinished string) error) error {
	fd, unfinished := int(folder.Fd()), ".lifepod-cp-"+rand.String(10)
	if mountOf(fd, name, unix.AT_SYMLINK_NOFOLLOW) != mountOf(fd, "", unix.AT_EMPTY_PATH) {
		return fmt.Errorf("%s is mounted into the container by itself, and can't be replaced", name)
	}
	err := fill(unfinished)
	if err == nil {
		err = unix.Renameat(fd, unfinished, fd, name)
	}
	if err != nil {
		_ = unix.Unlinkat(fd, unfinished, 0) // it may not have been made
	}
	return err
}

// mountOf is the mount on which an entry is; if there is none, that of its folder.
func mountOf(folder int, name string, flags int) uint64 {
	var stat unix.Statx_t
	if unix.Statx(folder, name, flags, unix.STATX_MNT_ID, &stat) != nil && name != "" {
		return mountOf(folder, "", unix.AT_EMPTY_PATH)
	}
	return stat.Mnt_id
}
