package volumes

import (
	"io/fs"
	"os"
	"path/filepath"
)

// own gives a folder and what is in it to the fsGroup: its group may read it,
// and write it unless it is read-only, and folders hand the group on to what is
// made in them. Without an fsGroup nothing changes. Only for folders that no
// container can write to yet.
func own(dir string, group *int64, readOnly bool) error {
	if group == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return ownEntry(path, entry, int(*group), readOnly)
	})
}

func ownEntry(path string, entry fs.DirEntry, group int, readOnly bool) error {
	if err := os.Lchown(path, -1, group); err != nil {
		return err
	}
	if entry.Type() == fs.ModeSymlink {
		// chmod would change what the link points to.
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	mask := fs.FileMode(0o660)
	if readOnly {
		mask = 0o440
	}
	if entry.IsDir() {
		mask |= fs.ModeSetgid | 0o110
	}
	return os.Chmod(path, info.Mode()|mask)
}
