package server

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// folder is a folder out of which no link leads: pods that may write into it
// could else have any file of the node read.
type folder string

// Open opens a file or folder below it. Links are followed as long as they stay
// below, also absolute ones, as those of /var/log/containers are.
func (f folder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	top, err := filepath.EvalSymlinks(string(f))
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(top, name))
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(inside) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()                                // only read
	file, err := root.OpenFile(inside, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe must not hold it up
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		_ = file.Close() // a pipe or device would hold the reader for ever
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return file, nil
}
