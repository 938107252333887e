// Package wholefile writes files that are complete whenever they are read.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const unfinished = ".new-"

// Write replaces a file, or makes it, with mode 0600. A reader sees the old content
// or the new one, also after a power cut. When Write has returned without an error, a
// power cut leaves the new content; after an error the file has the old content, or
// the new one if only the folder could not be synced.
func Write(path string, content []byte) error { return WriteMode(path, content, 0o600) }

// WriteMode is Write for a file with another mode.
func WriteMode(path string, content []byte, mode fs.FileMode) error {
	return Fill(path, func(next *os.File) error {
		_, err := next.Write(content)
		return errors.Join(err, next.Chmod(mode))
	})
}

// Fill is Write for a file that fill writes, and whose mode and owner it may change.
func Fill(path string, fill func(next *os.File) error) error {
	next, err := os.CreateTemp(filepath.Dir(path), unfinished) // mode 0600
	if err != nil {
		return err
	}
	err = fill(next)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// Try says why no file of that size can be written to a folder now; nothing stays of it.
func Try(dir string, size int) error {
	file, err := os.CreateTemp(dir, unfinished)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, size))
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name()))
}

// RemoveUnfinished removes what a process that was killed in Write has left in a
// folder that nobody else writes to.
func RemoveUnfinished(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// SyncFolder returns when the names in a folder survive a power cut.
func SyncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
