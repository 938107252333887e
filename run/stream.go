package run

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	outputAhead = 64 << 10 // bytes of container output that may wait to be written
	ownAhead    = 4 << 20  // bytes of lifepod's own lines that may
	writeSize   = 4 << 10  // bytes of one write: a slow reader is seen to read
)

// stream is standard output or standard error, or both if they are the same
// file. One goroutine writes, so that a reader that doesn't read delays nobody
// else: lifepod's own lines wait in a queue, of which the oldest are left out
// when it becomes long: a terminal may be stopped for days, and the pod goes on.
// Container output holds up the follower that reads it.
type stream struct {
	w        io.Writer
	onBroken func()                 // the reader has gone
	leftOut  func(lines int) string // says that lines were left out, on one of its own
	stalled  time.Duration

	layout   layout        // owned by the writing goroutine
	hurried  atomic.Bool   // somebody asked for the command's end: no reader is waited for
	failed   atomic.Value  // error: the first write that failed, other than by a reader that has gone
	done     chan struct{} // closed when that has ended
	giveUp   sync.Once
	gaveUp   chan struct{} // closed when nobody waits any more
	progress atomic.Int64  // a write's begin and its end each add one: odd while one is under way

	mu      sync.Mutex
	changed *sync.Cond // of all below
	queue   []item
	ahead   int  // bytes of container output in queue
	own     int  // bytes of the others
	lost    int  // how many of them were left out
	broken  bool // what comes is dropped
	writing bool // what was taken out of queue
	closing bool
}

func newStream(w io.Writer, l layout, leftOut func(lines int) string, onBroken func()) *stream {
	s := &stream{
		w: w, onBroken: onBroken, leftOut: leftOut, stalled: 2 * time.Second, layout: l,
		done: make(chan struct{}), gaveUp: make(chan struct{}),
	}
	s.changed = sync.NewCond(&s.mu)
	go s.run()
	return s
}

// put queues one of lifepod's own items; it never blocks.
func (s *stream) put(it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
	}
	if last := len(s.queue) - 1; it.redraw && last >= 0 && s.queue[last].redraw {
		s.own -= len(s.queue[last].text)
		s.queue = s.queue[:last] // it takes its place
	}
	s.own += len(it.text)
	s.add(it)
	if s.own > ownAhead {
		s.leaveOut()
	}
}

// leaveOut forgets the older half of lifepod's own lines that wait. The last
// ones say how the pod is.
func (s *stream) leaveOut() {
	kept := make([]item, 0, len(s.queue))
	for _, it := range s.queue {
		if it.source != nil || it.mark.stream != "" || it.text == "" || s.own <= ownAhead/2 {
			kept = append(kept, it)
			continue
		}
		s.own -= len(it.text)
		s.lost++
	}
	s.queue = kept
}

// putOutput queues container output, when there is room.
func (s *stream) putOutput(it item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ahead >= outputAhead && !s.broken {
		s.changed.Wait()
	}
	s.ahead += len(it.text)
	s.add(it)
}

func (s *stream) add(it item) {
	if !s.broken {
		s.queue = append(s.queue, it)
		s.changed.Broadcast()
	}
}

// run writes what is queued, until the stream is closed and all is written.
func (s *stream) run() {
	defer close(s.done)
	for {
		items := s.take()
		if items == nil {
			return
		}
		var text []byte
		for _, it := range items {
			text = s.layout.add(text, it)
		}
		if err := s.write(text); err != nil {
			if !errors.Is(err, unix.EPIPE) {
				s.failed.CompareAndSwap(nil, err)
			}
			s.drop()
			s.onBroken()
			continue
		}
		noteShown(items)
	}
}

// take waits for something to write; nil says that nothing will come.
func (s *stream) take() []item {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	for len(s.queue) == 0 && !s.closing && !s.broken {
		s.changed.Wait()
	}
	items := s.queue
	if s.lost > 0 {
		items = append([]item{{text: s.leftOut(s.lost)}}, items...)
	}
	s.queue, s.ahead, s.own, s.lost, s.writing = nil, 0, 0, 0, len(items) > 0
	s.changed.Broadcast()
	return items
}

func (s *stream) write(text []byte) error {
	for len(text) > 0 {
		n := min(len(text), writeSize)
		s.progress.Add(1)
		_, err := s.w.Write(text[:n])
		s.progress.Add(1)
		if err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// drop forgets what is queued, and all that comes.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.queue, s.own = true, nil, 0
	s.changed.Broadcast()
}

// attend waits for done, for as long as the reader takes. Once somebody has
// asked for the command's end, a single write that takes too long means that
// nobody reads: then what is queued is dropped, and the answer is false.
func (s *stream) attend(done <-chan struct{}) bool {
	for {
		before := s.progress.Load()
		select {
		case <-done:
			return true
		case <-s.gaveUp:
			return false
		case <-time.After(s.stalled):
		}
		if now := s.progress.Load(); s.hurried.Load() && now == before && now%2 == 1 {
			s.abandon()
		}
	}
}

// abandon drops what is queued; if that is anything, nobody waits any more.
func (s *stream) abandon() {
	s.mu.Lock()
	pending := len(s.queue) > 0 || s.writing
	s.mu.Unlock()
	s.drop()
	if pending {
		s.giveUp.Do(func() { close(s.gaveUp) })
	}
}

// close writes what is queued; false says that some of it was dropped because
// nobody reads.
func (s *stream) close() bool {
	s.mu.Lock()
	s.closing = true
	s.changed.Broadcast()
	s.mu.Unlock()
	attended := s.attend(s.done)
	select {
	case <-s.gaveUp:
		return false
	default:
		return attended
	}
}

// ignoreBrokenPipes makes a write to a pipe that nobody reads an error, also on
// standard output, where it would end lifepod in the middle of the pod's life.
// The signal is caught, not ignored: ignoring is inherited by child processes.
func ignoreBrokenPipes() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }

// sameFile says that two writers are the same terminal, pipe or file.
func sameFile(a, b io.Writer) bool {
	if a == b {
		return true
	}
	x, y := stat(a), stat(b)
	return x != nil && y != nil && os.SameFile(x, y)
}

func stat(w io.Writer) os.FileInfo {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}
