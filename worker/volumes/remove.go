package volumes

import (
	"errors"
	"fmt"
	"io"
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
	if err := removeIn(parent, filepath.Base(podDir)); err != nil {
		return fmt.Errorf("remove pod folder %s: %w", podDir, err)
	}
	return nil
}

// Delete deletes a folder with everything in it, but refuses, before it deletes
// anything, if something is mounted there. The kernel keeps it from deleting through
// what is mounted meanwhile, and through links. A folder that is not there is no error.
func Delete(dir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete folder: %w", err)
	}
	dir = filepath.Join(parent, filepath.Base(dir))
	err = eachMount(dir, func(path string) error { return fmt.Errorf("something is mounted at %s", path) })
	if err == nil {
		err = removeIn(parent, filepath.Base(dir))
	}
	if err != nil {
		return fmt.Errorf("delete folder %s: %w", dir, err)
	}
	return nil
}

// removeIn deletes what has a name in a folder.
func removeIn(parent, name string) error {
	parentFD, err := unix.Open(parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", parent, err)
	}
	defer func() { _ = unix.Close(parentFD) }()
	return removeTree(parentFD, name)
}

// Clear is Remove for all that is in a pod's folder but the entry keep.
func Clear(podDir, keep string) error {
	if info, err := os.Lstat(podDir); err != nil || !info.IsDir() {
		return Remove(podDir)
	}
	entries, err := os.ReadDir(podDir)
	if err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		if entry.Name() != keep {
			errs = append(errs, Remove(filepath.Join(podDir, entry.Name())))
		}
	}
	return errors.Join(errs...)
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
// first. All are made private before: what somebody has mounted in the folder
// behind a local volume is seen in the pod's mount of it, too, and the kernel
// would unmount both.
func unmountBelow(dir string) error {
	if err := eachMount(dir, makePrivate); err != nil {
		return err
	}
	return eachMount(dir, unmount)
}

// eachMount calls do for the paths of the mounts at and below a folder, the last
// mounted first.
func eachMount(dir string, do func(path string) error) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	slices.Reverse(mounts)
	for _, m := range mounts {
		if err := do(strings.TrimSuffix(m.Mountpoint, "//deleted")); err != nil {
			return err
		}
	}
	return nil
}

// makePrivate has what is mounted and unmounted in a mount stay there; no mount is
// no error.
func makePrivate(path string) error {
	err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, &unix.MountAttr{Propagation: unix.MS_PRIVATE})
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.12
		err = unix.Mount("", path, "", unix.MS_PRIVATE, "")
	}
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("make mount %s private: %w", path, err)
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

// removeTree deletes an entry of a folder with everything in it, however deep.
func removeTree(parent int, name string) error {
	return (&remover{}).entry(parent, name, 0)
}

// remover deletes a tree with few folders open at a time: a container may have
// made more of them, one in the other, than a process can open.
type remover struct {
	top  *os.File // the tree's first folder, which takes what is too deep
	deep int      // how much it took
}

const maxOpenFolders = 100

// entry deletes an entry. A folder is opened only if it is one, on the same mount.
func (r *remover) entry(parent int, name string, depth int) error {
	err := unix.Unlinkat(parent, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if depth == maxOpenFolders {
		return r.lift(parent, name)
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
	if err := r.folder(os.NewFile(uintptr(fd), name), depth); err != nil {
		return err
	}
	if err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// lift moves a folder that lies too deep to the top, to be deleted there.
func (r *remover) lift(parent int, name string) error {
	for {
		r.deep++
		err := unix.Renameat2(parent, name, int(r.top.Fd()), fmt.Sprintf(".deep-%d", r.deep), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
}

// folder deletes what is in a folder and closes it: some names at a time, as a
// container may have made millions. It is read again until nothing more is found;
// the top gets more while it is deleted.
func (r *remover) folder(dir *os.File, depth int) error {
	defer func() { _ = dir.Close() }()
	if depth == 0 {
		r.top = dir
	}
	for {
		deleted, err := r.pass(dir, depth)
		if err != nil || deleted == 0 {
			return err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// pass deletes what is in a folder, read once, and says how much that was.
func (r *remover) pass(dir *os.File, depth int) (deleted int, err error) {
	var failures []error
	for {
		names, err := dir.Readdirnames(1000)
		for _, name := range names {
			if err := r.entry(int(dir.Fd()), name, depth+1); err != nil {
				failures = append(failures, err)
			}
		}
		deleted += len(names)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if err != nil || len(names) == 0 || len(failures) > maxFailures {
			return deleted, errors.Join(append(failures, err)...)
		}
	}
}

// maxFailures are enough to tell what is wrong.
const maxFailures = 10
