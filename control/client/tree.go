package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/pidfd"
)

// Tree is the file tree of a container.
type Tree struct {
	// Warn hears of what is left out.
	Warn func(format string, args ...any)

	root     *os.File
	uid, gid int // of the container's user, as this machine has them
}

// OpenTree opens the tree of the container whose first process is given. Close it.
func OpenTree(id pidfd.ID) (*Tree, error) {
	t, err := open(id.PID)
	if now, gone := pidfd.Find(id.PID); gone != nil || now != id { // another one may have the PID by now
		err = errors.Join(pidfd.ErrEnded, t.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("open the container's files: %w", err)
	}
	return t, nil
}

func open(pid int) (*Tree, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return nil, err
	}
	status, err := proc.NewStatus()
	if err != nil {
		return nil, err
	}
	root, err := openFile(unix.AT_FDCWD, fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY)
	return &Tree{root: root, uid: int(status.UIDs[3]), gid: int(status.GIDs[3])}, err
}

// Close closes it.
func (t *Tree) Close() error {
	if t == nil || t.root == nil {
		return nil
	}
	return t.root.Close()
}

// mostRead bounds what ReadFile reads.
const mostRead = 1 << 20

// ReadFile reads a small plain file of the container's.
func (t *Tree) ReadFile(path string) ([]byte, error) {
	file, err := t.inside(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostRead {
		return nil, errors.Join(err, fmt.Errorf("%s is no file of at most %d bytes", path, mostRead))
	}
	opened, err := reopen(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return io.ReadAll(io.LimitReader(opened, mostRead))
}

// reopen opens for reading what has been looked at.
func reopen(file *os.File) (*os.File, error) {
	return openFile(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", file.Fd()), unix.O_RDONLY)
}

// opener opens a path of one of both sides.
type opener func(path string, flags int) (*os.File, error)

// inside opens a path as the container's processes would, but for links of /proc, which lead anywhere.
func (t *Tree) inside(path string, flags int) (*os.File, error) {
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(int(t.root.Fd()), path, how)
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR): // something was renamed meanwhile
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		default:
			return os.NewFile(uintptr(fd), path), nil
		}
	}
}

// outside opens a path of this machine.
func outside(path string, flags int) (*os.File, error) { return openFile(unix.AT_FDCWD, path, flags) }

func openFile(dir int, path string, flags int) (*os.File, error) {
	fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// CopyOut copies a path of the container to a path of this machine, or into it if it is a folder. What is made belongs to this process's
// user, without the bits of setuid and setgid, which would give the container's program that user's rights.
func (t *Tree) CopyOut(ctx context.Context, path, local string) error {
	return t.copy(ctx, true, t.inside, path, outside, local)
}

// CopyIn copies a path of this machine to a path of the container, or into it if it is a folder. What is made belongs to the container's
// user.
func (t *Tree) CopyIn(ctx context.Context, local, path string) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		err := actAs(t.uid, t.gid)
		if err == nil {
			err = t.copy(ctx, false, outside, local, t.inside, path)
		}
		done <- err
	}()
	return <-done
}

// actAs has this thread make files as another user, but with all of root's capabilities. A user namespace of the pod wants this: its file
// systems have no place for files of the machine's root.
func actAs(uid, gid int) error {
	const noSetUIDFixup = 1 << 2 // SECBIT_NO_SETUID_FIXUP: keep the capabilities
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noSetUIDFixup, 0, 0, 0); err != nil {
		return fmt.Errorf("keep root's capabilities: %w", err)
	}
	return errors.Join(unix.Setfsgid(gid), unix.Setfsuid(uid))
}

func (t *Tree) copy(ctx context.Context, out bool, open opener, path string, openTarget opener, target string) error {
	from, err := open(path, unix.O_PATH)
	if err != nil {
		return err
	}
	defer from.Close()
	to, name, err := place(openTarget, target, path)
	if err != nil {
		return err
	}
	defer to.Close()
	c := &copying{ctx: ctx, out: out, warn: t.Warn, path: path}
	if err := unix.Fstat(int(to.Fd()), &c.top); err != nil {
		return err
	}
	return c.entry(from, to, name, "")
}

// place is the folder that gets an entry, and the entry's name there.
func place(open opener, target, source string) (folder *os.File, name string, err error) {
	folder, err = open(target, unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		name = filepath.Base(source)
		if name == "/" || name == ".." {
			name = "." // what is in it
		}
		return folder, name, nil
	}
	base := filepath.Base(target)
	if strings.HasSuffix(target, "/") || base == "." || base == ".." || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		return nil, "", err
	}
	folder, err = open(filepath.Dir(target), unix.O_PATH|unix.O_DIRECTORY)
	return folder, base, err
}
