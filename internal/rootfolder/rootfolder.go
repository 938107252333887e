// Package rootfolder names what lifepod has in a state folder, and tells whether a folder is safe to
// have such state below it: programs that root runs, keys, and what pods are made of.
package rootfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Check refuses a folder that somebody else than root and this user can change, or lead
// elsewhere. One that isn't there yet is fine.
func Check(path string) error {
	link, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	if link.Mode()&fs.ModeSymlink != 0 {
		if err := owned(path, "the link", link); err != nil {
			return err
		}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state folder %s: it is a link to a folder that does not exist: make that, or use another folder", path)
	}
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("state folder %s: it is no folder: use another one", path)
	}
	if err := owned(path, "it", info); err != nil {
		return err
	}
	mode, group := info.Mode().Perm(), info.Sys().(*syscall.Stat_t).Gid
	if mode&0o002 != 0 || mode&0o020 != 0 && group != 0 {
		return fmt.Errorf("state folder %s: others can write to it (mode %#o, group %d), and whoever does could become root: chmod go-w %[1]s, or use another folder", path, mode, group)
	}
	return nil
}

// Make makes a folder if it isn't there, and refuses one that somebody else was faster to
// make.
func Make(path string, mode fs.FileMode) error {
	if err := Check(path); err != nil {
		return err
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	return Check(path)
}

// owned refuses what belongs to somebody else.
func owned(path, what string, info fs.FileInfo) error {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == 0 || owner == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("state folder %s: %s belongs to the user %d, who could become root by it: chown -h root: %[1]s, or use another folder", path, what, owner)
}
