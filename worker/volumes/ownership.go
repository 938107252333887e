package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// What fsGroup adds to the modes of files and folders.
const (
	groupWrites = fs.FileMode(0o660)
	groupReads  = fs.FileMode(0o440)
	groupEnters = fs.ModeSetgid | 0o110
)

// own gives a folder and what is in it to the fsGroup: its group may read it,
// and write it unless it is read-only, and folders hand the group on to what is
// made in them. Without an fsGroup nothing changes. A container that works in
// the folder meanwhile can't lead the walk out of it. The top comes last: as long
// as it isn't the group's, the walk is not done (see ownedBy).
func own(dir string, group *int64, readOnly bool) error {
	if group == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if path == "." {
			return err
		}
		if err == nil {
			err = ownEntry(root, path, int(*group), readOnly)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted while we walk
		}
		return err
	})
	if err == nil {
		err = ownEntry(root, ".", int(*group), readOnly)
	}
	if err != nil {
		return fmt.Errorf("give the volume to group %d: %w", *group, err)
	}
	return nil
}

func ownEntry(root *os.Root, path string, group int, readOnly bool) error {
	if err := root.Lchown(path, -1, group); err != nil {
		return err
	}
	info, err := root.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		// chmod would change what the link points to.
		return nil
	}
	mask := groupWrites
	if readOnly {
		mask = groupReads
	}
	if info.IsDir() {
		mask |= groupEnters
	}
	return root.Chmod(path, info.Mode()|mask)
}

// ownedBy says whether the top of a volume looks as own would leave it.
func ownedBy(dir string, group int64) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	const want = groupWrites | groupEnters
	return info.Mode()&want == want && int64(info.Sys().(*syscall.Stat_t).Gid) == group
}
