package run

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/agent/criconfig"
)

// follower shows the log of every instance of every container, from its first
// line to its last, as it is written.
type follower struct {
	printer *printer
	logDir  string
	logs    map[string]*log // by container: its newest instance; owned by the worker
	gone    chan struct{}   // closed when the pod is gone
	readers sync.WaitGroup
}

// log is one instance's log while it is followed.
type log struct {
	attempt int32
	ended   chan struct{} // closed when the instance has exited
	closed  bool
}

func newFollower(p *printer, logDir string) *follower {
	return &follower{printer: p, logDir: logDir, logs: map[string]*log{}, gone: make(chan struct{})}
}

// see looks at a container's new status: an instance that has started is
// followed, one that has ended is read to its end. The file is opened here, so
// that it may be unlinked afterwards.
func (f *follower) see(c *v1.ContainerStatus) {
	current := f.logs[c.Name]
	runs := c.State.Running != nil
	if current != nil && (!runs || current.attempt != c.RestartCount) && !current.closed {
		close(current.ended)
		current.closed = true
	}
	ran := runs || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
	if !ran || c.ContainerID == "" || (current != nil && current.attempt == c.RestartCount) {
		return
	}
	file, err := os.Open(filepath.Join(f.logDir, criconfig.ContainerLogPath(c.Name, int(c.RestartCount))))
	if err != nil {
		return // it never started
	}
	next := &log{attempt: c.RestartCount, ended: make(chan struct{}), closed: !runs}
	if next.closed {
		close(next.ended)
	}
	f.logs[c.Name] = next
	f.readers.Go(func() { f.read(c.Name, file, next.ended) })
}

// wait returns when everything that was written has been shown, or when nobody
// reads it. The pod is gone: nothing is written any more.
func (f *follower) wait() {
	for _, l := range f.logs {
		if !l.closed {
			close(l.ended)
			l.closed = true
		}
	}
	close(f.gone)
	done := make(chan struct{})
	go func() {
		f.readers.Wait()
		close(done)
	}()
	f.printer.stdout.attend(done)
	<-done // without a reader output is dropped, so this does not block
}

// read shows a log until its instance has ended and all is read. The runtime
// tells of the exit while it may still be writing the last lines.
func (f *follower) read(container string, file *os.File, ended <-chan struct{}) {
	defer func() { _ = file.Close() }() // only read
	changed, stop := watch(file.Name())
	defer stop()
	r := newLogReader(f.printer, container, file)
	defer r.flush()
	r.until(ended, changed)
	if r.finish(changed) {
		return
	}
	r.until(f.gone, changed)
	r.finish(changed)
}

// watch tells when the file may have grown. Without inotify it looks every 100 ms.
func watch(path string) (<-chan struct{}, func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return every(100 * time.Millisecond)
	}
	if err := w.Add(path); err != nil {
		_ = w.Close() // it watches nothing
		return every(100 * time.Millisecond)
	}
	return changes(w.Events, w.Errors), func() { _ = w.Close() }
}

// changes is one signal for any number of events. An error means that events
// were lost, so that something may have changed, too.
func changes(events <-chan fsnotify.Event, errors <-chan error) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		for open := true; open; {
			select {
			case _, open = <-events:
			case _, open = <-errors:
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed
}

func every(d time.Duration) (<-chan struct{}, func()) {
	changed, done, tick := make(chan struct{}), make(chan struct{}), time.NewTicker(d)
	go func() {
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
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
