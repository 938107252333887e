package run

import (
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podlog"
)

// follower shows the log of every instance of every container, from its first
// line to its last, as it is written.
type follower struct {
	printer *printer
	logDir  string
	already *shown                  // what a lifepod before has shown; nil: nothing
	logs    map[string]*followedLog // by container: its newest instance; owned by the worker
	gone    chan struct{}           // closed when the pod is gone
	readers sync.WaitGroup
}

// followedLog is one instance's log while it is followed.
type followedLog struct {
	attempt int32
	ended   chan struct{} // closed when the instance has exited
	closed  bool
}

func newFollower(p *printer, logDir string) *follower {
	return &follower{printer: p, logDir: logDir, logs: map[string]*followedLog{}, gone: make(chan struct{})}
}

// see looks at a container's new status: an instance that has started is
// followed, one that has ended is read to its end. Its files are opened here, so
// that they may be unlinked afterwards.
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
	files := podlog.Open(filepath.Join(f.logDir, criconfig.ContainerLogPath(c.Name, int(c.RestartCount))), f.dropped(c.Name))
	if files == nil {
		return // it never started
	}
	next := &followedLog{attempt: c.RestartCount, ended: make(chan struct{}), closed: !runs}
	if next.closed {
		close(next.ended)
	}
	f.logs[c.Name] = next
	f.readers.Go(func() { f.read(c.Name, files, next.ended) })
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
func (f *follower) read(container string, files *podlog.Log, ended <-chan struct{}) {
	defer files.Close()
	out := newLogReader(f.printer, container, f.already)
	defer out.flush()
	var r *podlog.Reader
	r = podlog.NewReader(files, func(text string) { out.show(text, r.Place()) })
	defer r.Close()
	r.Until(ended)
	if r.Finish() {
		return
	}
	r.Until(f.gone)
	r.Finish()
}

// dropped says that output will not be shown: the reader is too slow, or the log can't
// be read.
func (f *follower) dropped(container string) func() {
	return func() {
		f.printer.warn("container %s: output may be missing: part of its log could not be read, or was removed before it was", container)
	}
}
