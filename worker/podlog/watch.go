package podlog

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// watch tells when a file in a folder may have grown, and calls look when there
// may be a new one called name. Without inotify both happen every 100 ms.
func watch(dir string, look func(), name string) (<-chan struct{}, func()) {
	f := &folderWatch{dir: filepath.Clean(dir), name: name, look: look, changed: mailbox.NewSignal()}
	if err := folders.join(f); err != nil {
		return every(100*time.Millisecond, look)
	}
	return f.changed, func() { folders.leave(f) }
}

// folderWatch is one who wants to know of a folder.
type folderWatch struct {
	dir, name string
	look      func()
	changed   mailbox.Signal
}

// folders are those that are watched in this process: unlike by pathwatch all by one
// inotify instance, of which a user may have few (fs.inotify.max_user_instances), and
// one goroutine. There is none while nobody watches.
var folders = &watched{dirs: map[string]map[*folderWatch]struct{}{}}

type watched struct {
	mu      sync.Mutex
	watcher *fsnotify.Watcher
	dirs    map[string]map[*folderWatch]struct{}
}

func (w *watched) join(f *folderWatch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watcher == nil {
		watcher, err := fsnotify.NewWatcher()
		if err != nil {
			return err
		}
		w.watcher = watcher
		go w.pass(watcher)
	}
	// Also if it is watched already: it may be another folder of that name.
	if err := w.watcher.Add(f.dir); err != nil {
		w.closeUnused()
		return err
	}
	if w.dirs[f.dir] == nil {
		w.dirs[f.dir] = map[*folderWatch]struct{}{}
	}
	w.dirs[f.dir][f] = struct{}{}
	return nil
}

func (w *watched) leave(f *folderWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, joined := w.dirs[f.dir][f]; !joined {
		return
	}
	delete(w.dirs[f.dir], f)
	if len(w.dirs[f.dir]) == 0 {
		delete(w.dirs, f.dir)
		_ = w.watcher.Remove(f.dir) // a folder that is gone is watched no more
	}
	w.closeUnused()
}

func (w *watched) closeUnused() {
	if len(w.dirs) == 0 && w.watcher != nil {
		_ = w.watcher.Close() // it watches nothing
		w.watcher = nil
	}
}

// pass hands the events of one instance on until it is closed. An error means
// that events were lost: anything may have changed.
func (w *watched) pass(watcher *fsnotify.Watcher) {
	for {
		select {
		case event, open := <-watcher.Events:
			if !open {
				return
			}
			w.changed(event)
		case _, open := <-watcher.Errors:
			if !open {
				return
			}
			w.lost()
		}
	}
}

func (w *watched) changed(event fsnotify.Event) {
	of := append(w.of(filepath.Dir(event.Name)), w.of(event.Name)...) // one that goes itself, too
	for _, f := range of {
		if event.Has(fsnotify.Create) && strings.HasPrefix(filepath.Base(event.Name), f.name) {
			f.look()
		}
		f.changed.Send()
	}
}

func (w *watched) lost() {
	for _, f := range w.of("") {
		f.look()
		f.changed.Send()
	}
}

// of are those who watch a folder, or any if it is empty. Their looks open files,
// and leave: no lock is held meanwhile.
func (w *watched) of(dir string) (all []*folderWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir != "" {
		return slices.Collect(maps.Keys(w.dirs[dir]))
	}
	for _, members := range w.dirs {
		all = slices.AppendSeq(all, maps.Keys(members))
	}
	return all
}

func every(d time.Duration, look func()) (<-chan struct{}, func()) {
	changed, done, tick := make(chan struct{}), make(chan struct{}), time.NewTicker(d)
	go func() {
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-done:
				return
			}
			select {
			case changed <- struct{}{}:
			case <-done:
				return
			}
		}
	}()
	return changed, func() { close(done) }
}
