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
)

// Watcher watches what Follow was called for last.
type Watcher struct {
	Changed chan struct{} // has one after any number of changes

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
	return &Watcher{Changed: make(chan struct{}, 1), onError: onError}
}

// Close ends the watch and its goroutine.
func (w *Watcher) Close() {
	if w.notify != nil {
		_ = w.notify.Close() // ends its goroutine
	}
	w.notify, w.places = nil, nil
}

// Follow watches what there is to watch now at a path, which need not exist. A change after it is told. It is to be
// called again after each change, before what has changed is looked at.
func (w *Watcher) Follow(ctx context.Context, path string) {
	for range 5 { // what appears between looking and watching is found by looking again
		places := placesOf(path)
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
	w.tell() // it changes faster than this: look at it again
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
				w.tell()
			}
		case _, open := <-errs:
			if !open {
				return
			}
			w.tell() // events were lost
		}
	}
}

func (w *Watcher) tell() {
	select {
	case w.Changed <- struct{}{}:
	default:
	}
}

func counts(places map[string]*place, name string) bool {
	p := places[filepath.Dir(name)]
	return p == nil || p.all || p.names[filepath.Base(name)] || places[name] != nil
}

// placesOf finds the folders whose entries decide what is at a path.
func placesOf(path string) map[string]*place {
	places := map[string]*place{}
	path, err := filepath.Abs(path)
	if err != nil {
		return places
	}
	addPath(places, path, maxLinks)
	entries, err := os.ReadDir(path)
	if err != nil {
		return places
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			addPath(places, filepath.Join(path, e.Name()), maxLinks)
		}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if p := add(places, real); p != nil {
			p.all = true
		}
	}
	return places
}

// maxLinks is how many links are followed, one after another, as by the kernel.
const maxLinks = 40

// addPath adds the folder of a name, or the nearest above that exists, and where a link leads.
func addPath(places map[string]*place, path string, links int) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	for ; ; dir, name = filepath.Dir(dir), filepath.Base(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			if p := add(places, real); p != nil {
				p.names[name] = true
			}
			break
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
	target, err := os.Readlink(path)
	if err != nil || links == 0 {
		return
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	addPath(places, target, links-1)
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

// HasWriter asks for a lease, which there is none of while somebody has the file open for writing. It is given
// back at once. File systems without leases say nothing: then the file counts as written.
func HasWriter(f *os.File) bool {
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return errors.Is(err, unix.EAGAIN)
	}
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) // closing gives it back, too
	return false
}
