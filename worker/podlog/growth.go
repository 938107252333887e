package podlog

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

// Times between two looks at a log.
const (
	shortest = 50 * time.Millisecond  // of one that is written fast
	active   = 250 * time.Millisecond // at most, of one that is being written
	longest  = 10 * time.Second       // of a quiet one, whose file may be missing (B-LOG-1): one call of the kernel
)

// position is how far a log was written, and how fast.
type position struct {
	at      time.Time
	size    int64
	bytes   int64         // that came
	elapsed time.Duration // in that time
	missing int           // looks in a row that found no file
}

// move notes what a look has found and says whether the log has grown.
func (p *position) move(size int64, missing bool, now time.Time) bool {
	p.missing++
	if !missing {
		p.missing = 0
	}
	if !p.at.IsZero() {
		p.elapsed = now.Sub(p.at)
	}
	p.bytes = size - p.size
	if p.bytes < 0 { // a new file
		p.bytes = size
	}
	p.at, p.size = now, size
	return p.bytes > 0
}

// patience is how long to wait for a missing file: the longer it is missing the longer. A runtime
// may have opened it anew and not made it yet, or make none at all.
func (p *position) patience() time.Duration {
	if p.missing == 0 {
		return 0
	}
	return min(shortest<<min(p.missing-1, 10), longest)
}

// wait is when a growing log is looked at next: after half the time that it
// takes to be full if it grows on as it did.
func (p *position) wait(maxBytes int64) time.Duration {
	left := max(0, maxBytes-p.size)
	full := time.Duration(float64(p.elapsed) * float64(left) / float64(p.bytes))
	return min(max(full/2, shortest), active)
}

// writes are the kernel's notices of quiet logs: of each the first write, and that its file is
// renamed or removed. pathwatch, and the watch of those who read logs, would tell of every write
// to a busy log. Without inotify nothing is ever told of, and logs are looked at instead.
type writes struct {
	watcher *fsnotify.Watcher
	events  <-chan fsnotify.Event
	errors  <-chan error
	quiet   map[string]*rotating // of which it tells, by path
}

func newWrites() *writes {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &writes{}
	}
	return &writes{watcher: w, events: w.Events, errors: w.Errors, quiet: map[string]*rotating{}}
}

// watch asks for the next write; false says that it will not be told of.
func (w *writes) watch(path string) bool {
	return w.watcher != nil && w.watcher.Add(path) == nil
}

// wake is told of a write to a quiet log, or that its file is another one.
func (w *writes) wake(path string, now time.Time) {
	if of := w.quiet[path]; of != nil {
		of.rouse(w)
		of.due = now.Add(shortest)
	}
}

func (w *writes) forget(path string) {
	if w.watcher != nil {
		_ = w.watcher.Remove(path) // it may be gone with its file
	}
}

func (w *writes) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // it only watched
	}
}
