package localdriver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Requests of ioctl(2) that golang.org/x/sys does not have.
const (
	freeze   = 0xc0045877 // FIFREEZE
	unfreeze = 0xc0045878 // FITHAW
)

// mountsOf are the places where an image is mounted on this machine.
func mountsOf(image string) ([]*mountinfo.Info, error) {
	device, err := findLoop(image)
	if device == "" || err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Stat(device, &stat); err != nil {
		return nil, err
	}
	return mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.Major != int(unix.Major(stat.Rdev)) || m.Minor != int(unix.Minor(stat.Rdev)), false
	})
}

// devicesOf are the places where the block device of an image is.
func devicesOf(image string) ([]*mountinfo.Info, error) {
	device, err := findLoop(image)
	if device == "" || err != nil {
		return nil, err
	}
	return mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "devtmpfs" || m.Root != "/"+filepath.Base(device), false
	})
}

// onFolder does an ioctl on an open folder of a mount.
func onFolder(path string, do func(fd int) error) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(do(int(folder.Fd())), folder.Close())
}

// frozen does something while a file system accepts no writes and has written all that it
// had to.
func frozen(path string, do func() error) error {
	err := onFolder(path, func(fd int) error { return unix.IoctlSetInt(fd, freeze, 0) })
	if err != nil {
		return fmt.Errorf("freeze the file system at %s: %w", path, err)
	}
	return errors.Join(do(), thaw(path))
}

// thaw ends a freeze, if there is one.
func thaw(path string) error {
	err := onFolder(path, func(fd int) error { return unix.IoctlSetInt(fd, unfreeze, 0) })
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("thaw the file system at %s: %w", path, err)
	}
	return nil
}

// unmount takes away a mount at a path, of which there may be none.
func unmount(path string) error {
	err := unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	return nil
}
