package server

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/podlog"
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

// Logs are what containers have written.
type Logs interface {
	// Open opens the log of an instance, which its caller closes; nil: there is none. dropped is called once if part
	// of it could not be read, or was removed before it was.
	Open(pod *v1.Pod, container string, instance int, dropped func()) Log
}

// Log is that of one instance.
type Log interface {
	// All gives out what there is.
	All(to *podlog.Lines)
	// Follow also gives out what comes, until its instance has ended, which the channel says that ended gives, or ctx
	// has, or nobody takes it. flush is called after each line that is new.
	Follow(ctx context.Context, to *podlog.Lines, ended func(context.Context) <-chan struct{}, flush func())
	Close()
}

// LogFiles are the logs that a container runtime has written, of each pod below its folder.
type LogFiles func(pod *v1.Pod) (dir string)

// Open opens the files of an instance.
func (dir LogFiles) Open(pod *v1.Pod, container string, instance int, dropped func()) Log {
	log := podlog.OpenInstance(dir(pod), container, instance, dropped)
	if log == nil {
		return nil
	}
	return logFile{log}
}

// logFile is one that a container runtime writes.
type logFile struct{ *podlog.Log }

// All gives out what there is.
func (f logFile) All(to *podlog.Lines) { to.All(f.Log) }

// Follow also gives out what comes.
func (f logFile) Follow(ctx context.Context, to *podlog.Lines, ended func(context.Context) <-chan struct{}, flush func()) {
	to.Follow(ctx, f.Log, ended, flush)
}
