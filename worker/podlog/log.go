package podlog

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Files that wait for a reader that is slower than the container. They may have
// been removed already, and take space as long as they are open.
const (
	maxWaiting      = 512
	maxWaitingBytes = 256 << 20
)

// Log is one instance's log while it is read. Each of its files is opened as
// soon as it is there, whatever the reader does meanwhile, so that it may be
// rotated away and removed (B-LOG-1).
type Log struct {
	changed <-chan struct{} // something may have been written
	stop    func()
	dropped func() // reported once

	mu       sync.Mutex
	files    *Files
	waiting  []File
	reported bool
	closed   bool
}

// Open opens what there is of a log; nil if there is nothing. dropped is called
// once, if files had to be given up because nobody read them, or may have been
// removed before they could be opened, or were not written to their end. Close it.
func Open(path string, dropped func()) *Log {
	f := &Log{files: NewFiles(path), dropped: dropped}
	f.changed, f.stop = watch(filepath.Dir(path), f.look, filepath.Base(path))
	f.look()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		f.stop()
		f.files.Close()
		f.closed = true // a look under way must not open what nobody closes
		return nil
	}
	return f
}

// look opens the files that are new. What can't be opened now is tried again
// when the next one comes.
func (f *Log) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	found, _ := f.files.Look()
	f.waiting = append(f.waiting, found...)
	for len(f.waiting) > maxWaiting || len(f.waiting) > 1 && sizeOf(f.waiting) > maxWaitingBytes {
		_ = f.waiting[0].File.Close() // only read
		f.waiting = f.waiting[1:]
		f.reportDropped()
	}
	if f.files.Missed() {
		f.reportDropped()
	}
}

// drop is for a reader that has given something up.
func (f *Log) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reportDropped()
}

// reportDropped says that something was dropped, once.
func (f *Log) reportDropped() {
	if !f.reported {
		f.reported = true
		f.dropped()
	}
}

func sizeOf(files []File) (bytes int64) {
	for _, file := range files {
		if info, err := file.File.Stat(); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// next is the file that follows, if it is there; the caller closes it.
func (f *Log) next() (File, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return File{}, false
	}
	first := f.waiting[0]
	f.waiting = f.waiting[1:]
	return first, true
}

// Close gives up the files that were not read.
func (f *Log) Close() {
	f.stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range f.waiting {
		_ = file.File.Close() // only read
	}
	f.files.Close()
	f.waiting, f.closed = nil, true
}

// Record is one line of a log.
type Record struct {
	Time    time.Time // zero if the log's cannot be read
	Stream  string    // stdout or stderr
	Partial bool      // the line goes on in the stream's next record, or its newline was never written
	Text    string    // what the container wrote: with its newline, unless Partial
}

// Parse reads a record, which may end with its newline; false if it is none.
// The tags are divided by colons, the first says whether the record is partial.
func Parse(line string) (Record, bool) {
	at, rest, _ := strings.Cut(line, " ")
	stream, rest, _ := strings.Cut(rest, " ")
	tags, text, found := strings.Cut(rest, " ")
	if !found || stream != string(runtimeapi.Stdout) && stream != string(runtimeapi.Stderr) {
		return Record{}, false
	}
	tag, _, _ := strings.Cut(tags, runtimeapi.LogTagDelimiter)
	r := Record{Stream: stream, Partial: tag == string(runtimeapi.LogTagPartial), Text: text}
	if r.Partial {
		r.Text = strings.TrimSuffix(text, "\n")
	}
	r.Time, _ = time.Parse(time.RFC3339Nano, at) // the text counts, whatever the time
	return r, true
}

// Place is where a record ends in its log. Times don't say that: the runtime
// writes the rest of a file that was rotated away while it writes the next one
// already, so that the first records of a file may be older than the last ones
// of the file before, and a clock may be set back (B-LOG-1).
type Place struct {
	File int64 // the first record's time in Unix nanoseconds: a file keeps it when it is renamed and compressed; 0: not known
	End  int64 // bytes of that file up to the record's end
}

// Compare is negative if a record at p was written before one at q.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.End, q.End))
}

// MarshalText implements encoding.TextMarshaler: as many bytes always.
func (p Place) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%019d+%019d", p.File, p.End), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Place) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%d+%d", &p.File, &p.End); err != nil {
		return fmt.Errorf("place %q in a log: %w", text, err)
	}
	return nil
}
