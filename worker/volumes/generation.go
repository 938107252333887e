package volumes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockVersions keeps the versions of a pod's volumes as they are while the sub paths of a container are bound
// (unix.LOCK_SH): all of them come from one. Who writes a new version takes unix.LOCK_EX. A pod without volumes has none.
func lockVersions(podDir string, how int) (unlock func(), err error) {
	folder, err := os.Open(filepath.Join(podDir, "volumes"))
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(folder.Fd()), how); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

// binds are the files and folders of a volume that sub paths of containers are bound to. Until the runtime has mounted
// one for its container, it has to stay: what is deleted can't be mounted (A-VOL-5).
type binds map[[2]uint64]bool

func bindsOf(podDir, volume string) (binds, error) {
	targets, err := filepath.Glob(filepath.Join(subPathsOf(podDir, volume), "*", "*"))
	if err != nil {
		return nil, err
	}
	bound := binds{}
	for _, target := range targets {
		var stat unix.Stat_t
		if err := unix.Lstat(target, &stat); err != nil {
			return nil, err
		}
		bound[[2]uint64{stat.Dev, stat.Ino}] = true
	}
	return bound, nil
}

// subPathsOf has a folder for each container, with a number for each of its mounts.
func subPathsOf(podDir, volume string) string {
	return filepath.Join(podDir, "volume-subpaths", volume)
}

// any says whether something in a folder is bound, or the folder.
func (b binds) any(folder string) bool {
	if len(b) == 0 {
		return false
	}
	errBound := errors.New("bound")
	return errors.Is(filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		var stat unix.Stat_t
		if err == nil && unix.Lstat(path, &stat) == nil && b[[2]uint64{stat.Dev, stat.Ino}] {
			return errBound
		}
		return err
	}), errBound)
}
