package run

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
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
	readers sync.WaitGroup
}

// log is one instance's log while it is followed.
type log struct {
	attempt int32
	ended   chan struct{} // closed when the instance has exited
	closed  bool
}

func newFollower(p *printer, logDir string) *follower {
	return &follower{printer: p, logDir: logDir, logs: map[string]*log{}}
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

// wait returns when everything that was written has been shown. The pod is gone.
func (f *follower) wait() {
	for _, l := range f.logs {
		if !l.closed {
			close(l.ended)
			l.closed = true
		}
	}
	f.readers.Wait()
}

// read shows a log until its instance has ended and all is read.
func (f *follower) read(container string, file *os.File, ended <-chan struct{}) {
	defer func() { _ = file.Close() }() // only read
	changed, stop := watch(file.Name())
	defer stop()
	lines := &lineReader{r: bufio.NewReader(file)}
	for {
		lines.each(func(text string) { f.show(container, text) })
		select {
		case <-changed:
		case <-ended:
			lines.each(func(text string) { f.show(container, text) })
			if lines.partial != "" {
				f.show(container, lines.partial)
			}
			return
		}
	}
}

// show prints one line of a CRI log: "time stream P|F text". A partial line
// comes without its newline.
func (f *follower) show(container, text string) {
	fields := strings.SplitN(text, " ", 4)
	if len(fields) < 4 {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, fields[0])
	if err != nil {
		at = time.Now()
	}
	content := fields[3]
	if fields[2] == "P" {
		content = strings.TrimSuffix(content, "\n")
	}
	f.printer.output(container, fields[1], at, content)
}

// watch tells when the file may have grown. Without inotify it looks every 100 ms.
func watch(path string) (<-chan struct{}, func()) {
	changed := make(chan struct{}, 1)
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(path)
	}
	if err != nil {
		return every(100 * time.Millisecond)
	}
	go func() {
		for range w.Events {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed, func() { _ = w.Close() }
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

// lineReader gives the complete lines of a file that still grows.
type lineReader struct {
	r       *bufio.Reader
	partial string
}

func (l *lineReader) each(show func(string)) {
	for {
		text, err := l.r.ReadString('\n')
		l.partial += text
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.partial = ""
			}
			return
		}
		show(l.partial)
		l.partial = ""
	}
}
