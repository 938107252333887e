// Package pathwatch tells when something may have changed about a path, by inotify: about a folder and its files,
// the folder above it, and wherever links lead. A change further up is found by the next look.
package pathwatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// Watcher watches what Follow was called for last.
type Watcher struct {
	Changed mailbox.Signal // has one after any number of changes

	onError func(context.Context, error)
	notify  *fsnotify.Watcher
	places  map[string]*place // real folders that are watched
}

// place is a folder that is watched.
type place struct {
	device, inode uint64
	all           bool            // every name counts
	names         map[string]bool // or only these
}

// New is a Watcher of nothing yet. onError is told of each try to watch that failed, and with nil of each that did
// not.
func New(onError func(context.Context, error)) *Watcher {
	return &Watcher{Changed: mailbox.NewSignal(), onError: onError}
}

// Close ends the watch and its goroutine.
func (w *Watcher) Close() {
	if w.notify != nil {
		_ = w.notify.Close() // ends its goroutine
	}
	w.notify, w.places = nil, nil
}

// Follow watches paths, which need not exist, and reports changes from now on. Call it again after each change,
// before reading what has changed.
func (w *Watcher) Follow(ctx context.Context, paths ...string) {
	for range 5 { // what appears between looking and watching is found by looking again
		places := placesOf(paths)
		if w.notify != nil && reflect.DeepEqual(places, w.places) {
			return
		}
		w.Close()
		err := w.watch(places)
		w.onError(ctx, err)
		if err != nil {
			return
		}
	}
	w.Changed.Send() // it changes faster than this: look at it again
}

func (w *Watcher) watch(places map[string]*place) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	for dir := range places {
		if err := notify.Add(dir); err != nil && !os.IsNotExist(err) {
			_ = notify.Close() // it is of no use
			return err
		}
	}
	w.notify, w.places = notify, places
	go w.pass(notify, places)
	return nil
}

// pass tells of the events that count, until the watch is closed.
func (w *Watcher) pass(notify *fsnotify.Watcher, places map[string]*place) {
	for events, errs := notify.Events, notify.Errors; ; {
		select {
		case e, open := <-events:
			if !open {
				return
			}
			if counts(places, e.Name) {
				w.Changed.Send()
			}
		case _, open := <-errs:
			if !open {
				return
			}
			w.Changed.Send() // events were lost
		}
	}
}

func counts(places map[string]*place, name string) bool {
	p := places[filepath.Dir(name)]
	return p == nil || p.all || p.names[filepath.Base(name)] || places[name] != nil
}

// placesOf finds the folders whose entries decide what is at the paths.
func placesOf(paths []string) map[string]*place {
	places := map[string]*place{}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		addChain(places, path)
		entries, _ := os.ReadDir(path) // none, if it is no folder
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				addChain(places, filepath.Join(path, e.Name()))
			}
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if p := add(places, real); p != nil {
				p.all = true
			}
		}
	}
	return places
}

// addChain adds the folders of a path and of every link on the way to what is there; of one that is missing,
// the nearest folder above that exists.
func addChain(places map[string]*place, path string) {
	for _, path := range chain(path) {
		real, err := filepath.EvalSymlinks(filepath.Dir(path))
		for ; err != nil && path != "/"; path = filepath.Dir(path) {
			real, err = filepath.EvalSymlinks(filepath.Dir(filepath.Dir(path)))
		}
		if p := add(places, real); p != nil {
			p.names[filepath.Base(path)] = true
		}
	}
}

func add(places map[string]*place, dir string) *place {
	if p := places[dir]; p != nil {
		return p
	}
	var stat unix.Stat_t
	if unix.Stat(dir, &stat) != nil {
		return nil // gone since
	}
	p := &place{device: stat.Dev, inode: stat.Ino, names: map[string]bool{}}
	places[dir] = p
	return p
}

// Open opens a file to read it, also if it is a pipe that nobody writes.
func Open(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) }

// IsWritten says whether somebody has the file open for writing: then, and only then, the kernel refuses a read
// lease. An error says that there is no telling: not every file system has leases.
func IsWritten(f *os.File) (bool, error) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, nil
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return false, err
}
