package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Remove unmounts what is mounted in a pod's folder and deletes the folder. The
// kernel keeps it from deleting through a mount or a link, so what hostPath
// volumes or containers have mounted is safe. A folder that is not there is no
// error. Only to be called when no container of the pod is left.
func Remove(podDir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(podDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove pod folder: %w", err)
	}
	podDir = filepath.Join(parent, filepath.Base(podDir))
	if err := unmountBelow(podDir); err != nil {
		return fmt.Errorf("remove pod folder: %w", err)
	}
	parentFD, err := unix.Open(parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("remove pod folder: open %s: %w", parent, err)
	}
	defer func() { _ = unix.Close(parentFD) }()
	if err := removeTree(parentFD, filepath.Base(podDir)); err != nil {
		return fmt.Errorf("remove pod folder %s: %w", podDir, err)
	}
	return nil
}

// Unmount unmounts what is mounted in a pod's folder and leaves its files.
// Secrets, which are on a tmpfs, are gone then. Only to be called when no
// container of the pod is left.
func Unmount(podDir string) error {
	real, err := filepath.EvalSymlinks(podDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = unmountBelow(real)
	}
	if err != nil {
		return fmt.Errorf("unmount in pod folder: %w", err)
	}
	return nil
}

// unmountBelow unmounts everything at and below a folder, the last mounted
// first.
func unmountBelow(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	slices.Reverse(mounts)
	for _, m := range mounts {
		if err := unmount(strings.TrimSuffix(m.Mountpoint, "//deleted")); err != nil {
			return err
		}
	}
	return nil
}

// unmount detaches the mount at a path; none is no error. Detached at once, it
// cannot fail because a process still has a file open there.
func unmount(path string) error {
	err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	return nil
}

// removeTree deletes an entry of a folder with everything in it. A folder is
// opened only if it is one, on the same mount.
func removeTree(parent int, name string) error {
	err := unix.Unlinkat(parent, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%s: %w", name, err)
	}
	how := &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	}
	fd, err := unix.Openat2(parent, name, how)
	if errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("%s: something is mounted there", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := removeEntries(os.NewFile(uintptr(fd), name)); err != nil {
		return err
	}
	if err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// removeEntries deletes what is in a folder and closes it.
func removeEntries(dir *os.File) error {
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names {
		failures = append(failures, removeTree(int(dir.Fd()), name))
	}
	return errors.Join(failures...)
}
