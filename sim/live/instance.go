package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lifepod/lifepod/worker/podlog"
)

// line is one that a container has written. Its text is the scenario's.
type line struct {
	at     int64 // nanoseconds of Unix time
	text   string
	stderr bool
}

// record is the line as a container runtime's file has it.
func (l line) record() string {
	stream := "stdout"
	if l.stderr {
		stream = "stderr"
	}
	return fmt.Sprintf("%s %s F %s\n", time.Unix(0, l.at).UTC().Format(time.RFC3339Nano), stream, l.text)
}

// instance is the log of one instance of a container.
type instance struct {
	container string
	number    int

	mu     sync.Mutex
	lines  []line
	before int           // lines that were dropped, older than these
	bytes  int           // of the texts
	more   chan struct{} // closed at the next line; nil: nobody waits for it
}

func (i *instance) write(l line) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lines = append(i.lines, l)
	i.bytes += len(l.text) + 1
	for i.bytes > MaxBytes && len(i.lines) > 1 {
		i.bytes -= len(i.lines[0].text) + 1
		i.lines = i.lines[1:]
		i.before++
	}
	if i.more != nil {
		close(i.more)
		i.more = nil
	}
}

// since are the lines from a number on, of all that were ever written. dropped says that some of them are not there any
// more; more is closed when there are others.
func (i *instance) since(number int) (lines []line, next int, dropped bool, more <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.more == nil {
		i.more = make(chan struct{})
	}
	next = i.before + len(i.lines)
	return i.lines[max(0, number-i.before):], next, number < i.before, i.more
}

// log is an instance's while somebody reads it.
type log struct {
	*instance
	dropped  func()
	next     int // the line that comes next
	reported bool
}

func (l *log) All(to *podlog.Lines) {
	l.give(to)
	to.Flush()
	to.Live()
}

// Follow also gives out what comes.
func (l *log) Follow(ctx context.Context, to *podlog.Lines, ended func(context.Context) <-chan struct{}, flush func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	more := l.give(to)
	to.Live()
	flush()
	for over := ended(ctx); to.Err() == nil; flush() {
		select {
		case <-more:
			more = l.give(to)
		case <-over:
			if ctx.Err() == nil {
				l.give(to) // what it wrote before its end
				flush()
			}
			return
		}
	}
}

// give passes on what is there and was not passed on yet. What it returns is closed when there is more.
func (l *log) give(to *podlog.Lines) <-chan struct{} {
	first := l.next == 0 // what is older than the log is no loss
	lines, next, dropped, more := l.since(l.next)
	if l.next = next; dropped && !first && !l.reported {
		l.reported = true
		l.dropped()
	}
	for _, line := range lines {
		to.Record(line.record())
	}
	return more
}

// Close does nothing: there is nothing open.
func (*log) Close() {}
