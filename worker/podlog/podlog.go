package podlog

import (
	"errors"
	"io"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxLine is how many bytes of a line without an end are kept together.
const maxLine = 1 << 20

// LineOptions say what of a log is wanted.
type LineOptions struct {
	Tail       int64     // lines from the end of what there is; below 0: all
	Since      time.Time // no older lines; zero: all
	Timestamps bool      // each line begins with its time
	Stream     string    // only what was written to it, stdout or stderr; empty: both
	Limit      int64     // bytes altogether, the last line may be cut; 0: no limit
}

// ErrLimit is Err when all the bytes were written that were asked for.
var ErrLimit = errors.New("as many bytes as were asked for")

// timeLayout has a fixed width, as an API server's log endpoint has it.
const timeLayout = "2006-01-02T15:04:05.000000000Z07:00"

// Lines writes the lines of records. First comes what there is already, of which
// Tail may leave only the end; Live ends that part. Not safe for concurrent use.
type Lines struct {
	options LineOptions
	w       io.Writer
	live    bool
	kept    []piece // the last lines so far, while not live
	stdout  *pending
	stderr  *pending
	open    *pending // whose line was written last and has no newline; nil: none
	written int64
	err     error
	// newest are the times of the newest records.
	newestStdout, newestStderr time.Time
}

// pending is what there is of one stream's line that comes in several records.
type pending struct {
	at   time.Time // of its first record
	text []byte
}

// piece is a line, or a part of a long one.
type piece struct {
	of   *pending
	at   time.Time
	text string
}

// NewLines writes to w what o asks for.
func NewLines(w io.Writer, o LineOptions) *Lines {
	return &Lines{options: o, w: w, live: o.Tail < 0, stdout: &pending{}, stderr: &pending{}}
}

// Record takes one record of the log.
func (l *Lines) Record(text string) {
	record, ok := Parse(text)
	if !ok || l.err != nil || l.options.Stream != "" && record.Stream != l.options.Stream {
		return
	}
	p, newest := l.stdout, &l.newestStdout
	if record.Stream == string(runtimeapi.Stderr) {
		p, newest = l.stderr, &l.newestStderr
	}
	*newest = record.Time
	if len(p.text) == 0 {
		p.at = record.Time
	}
	p.text = append(p.text, record.Text...)
	if !record.Partial || len(p.text) >= maxLine {
		l.line(p)
	}
}

// Flush writes lines that have no end yet, and get none any more: what comes then
// begins a new line.
func (l *Lines) Flush() {
	l.line(l.stdout)
	l.line(l.stderr)
	l.stdout, l.stderr = &pending{}, &pending{}
}

// Live ends what is counted by Tail; what comes now is written as it comes.
func (l *Lines) Live() {
	if l.live {
		return
	}
	l.live = true
	for _, line := range l.kept {
		l.put(line)
	}
	l.kept = nil
}

// Newest are the times of the newest records that were taken, zero if there is none.
func (l *Lines) Newest() (stdout, stderr time.Time) { return l.newestStdout, l.newestStderr }

// Err is the first error of writing; nothing is written after it.
func (l *Lines) Err() error { return l.err }

func (l *Lines) line(p *pending) {
	if len(p.text) == 0 {
		return
	}
	line := piece{of: p, at: p.at, text: string(p.text)}
	p.text = p.text[:0]
	if p.at.Before(l.options.Since) {
		return
	}
	if l.live {
		l.put(line)
		return
	}
	l.kept = append(l.kept, line)
	if int64(len(l.kept)) > l.options.Tail {
		l.kept = l.kept[1:]
	}
}

// put writes a line. One without a newline goes on only with what the same stream of
// the same instance has written.
func (l *Lines) put(line piece) {
	text, begins := line.text, l.open != line.of
	if begins && l.options.Timestamps {
		text = line.at.Format(timeLayout) + " " + text
	}
	if begins && l.open != nil {
		text = "\n" + text
	}
	l.open = line.of
	if strings.HasSuffix(text, "\n") {
		l.open = nil
	}
	l.write(text)
}

func (l *Lines) write(text string) {
	if l.err != nil {
		return
	}
	limit := l.options.Limit
	if limit > 0 && int64(len(text)) > limit-l.written {
		text = text[:limit-l.written]
	}
	var n int
	n, l.err = io.WriteString(l.w, text)
	l.written += int64(n)
	if limit > 0 && l.written >= limit && l.err == nil {
		l.err = ErrLimit
	}
}
