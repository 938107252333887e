// Package rootfolder names what lifepod has in a state folder, and tells whether a folder is safe to
// have such state below it: programs that root runs, keys, and what pods are made of.
package rootfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Check refuses a folder that somebody else than root and this user can change, or lead elsewhere, as can who
// may rename a folder above it. One that isn't there yet is fine, if those above it are.
func Check(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	info, err := os.Stat(path)
	link, linkErr := os.Lstat(path) // a folder, if another process has made it meanwhile
	if errors.Is(err, fs.ErrNotExist) && linkErr == nil && link.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("state folder %s: it is a link to a folder that does not exist: make that, or use another folder", path)
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("state folder %s: it is no folder: use another one", path)
	}
	return checkWay(path)
}

// maxLinks is how many links a path may have, as the kernel has it.
const maxLinks = 40

// checkWay checks all that the kernel comes by on its way to a state folder: folders and links.
func checkWay(path string) error {
	at, rest, links := "/", names(path), 0
	for {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("state folder %s: %w", path, err)
		case info.Mode()&fs.ModeSymlink == 0:
			if err := safe(path, at, info, len(rest) > 0); err != nil || len(rest) == 0 {
				return err
			}
			at, rest = filepath.Join(at, rest[0]), rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("state folder %s: %w", path, syscall.ELOOP)
		}
		target, err := os.Readlink(at)
		if err := errors.Join(err, owned(path, "the link "+at, info)); err != nil {
			return err
		}
		rest = append(names(target), rest...)
		if at = filepath.Dir(at); filepath.IsAbs(target) {
			at = "/"
		}
	}
}

func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" })
}

// safe refuses a folder, of the way or the state folder itself, that others can write to. In one above that is
// sticky, such as /tmp, nobody can rename what is root's.
func safe(path, at string, info fs.FileInfo, above bool) error {
	if err := owned(path, at, info); err != nil {
		return err
	}
	mode, group := info.Mode().Perm(), info.Sys().(*syscall.Stat_t).Gid
	if mode&0o002 == 0 && (mode&0o020 == 0 || group == 0) || above && info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return fmt.Errorf("state folder %s: others can write to %s (mode %#o, group %d), and whoever does could become root: chmod go-w %[2]s, or use another folder", path, at, mode, group)
}

// through is the mode of folders that users of containers go through, and that nobody else can list.
const through = 0o711

// Make makes a state folder if it isn't there, and refuses one that somebody else was faster to make. One
// that is there keeps its mode.
func Make(path string) error {
	if err := Check(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := Ensure(path, through); err != nil {
			return fmt.Errorf("state folder: %w", err)
		}
	}
	return Check(path)
}

// EnsureRun makes a root's run folder. Pods with hostUsers: false have their root file systems below it.
func EnsureRun(path string) error { return Ensure(path, through) }

// Ensure makes a folder of lifepod's, with those above it, and gives it this mode, whatever the umask is and
// whoever made it before with another one.
func Ensure(path string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), through); err != nil {
		return err
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case info.Mode().Perm() != mode:
		return os.Chmod(path, mode)
	}
	return nil
}

// owned refuses what belongs to somebody else.
func owned(path, what string, info fs.FileInfo) error {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == 0 || owner == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("state folder %s: %s belongs to the user %d, who could become root by it: give it to root, or use another folder", path, what, owner)
}
