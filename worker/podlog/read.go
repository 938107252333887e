package podlog

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// OpenInstance opens the log of one instance below a pod's log folder, nil if there is
// none. dropped is called once if something could not be read, see Open.
func OpenInstance(dir, container string, instance int, dropped func()) *Log {
	return Open(filepath.Join(dir, criconfig.ContainerLogPath(container, instance)), dropped)
}

// over is closed: what there is is all that is wanted.
var over = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// All writes what there is of a log.
func (l *Lines) All(log *Log) {
	l.skip(log)
	r := NewReader(log, l.Record)
	r.Until(over)
	r.Close()
	l.Flush()
	l.Live()
}

// Follow writes a log until its instance has ended, which the channel says that
// ended gives, or ctx has, or Err says why it can't go on. flush is called after
// each record that is new. Lines without an end are written at the end.
func (l *Lines) Follow(ctx context.Context, log *Log, ended func(context.Context) <-chan struct{}, flush func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.skip(log)
	live := false
	r := NewReader(log, func(record string) {
		l.Record(record)
		if live {
			flush()
		}
		if l.err != nil {
			cancel()
		}
	})
	r.Until(over)
	live = true
	l.Live()
	flush()
	if l.err != nil {
		cancel()
	}
	r.Until(ended(ctx))
	if ctx.Err() == nil {
		r.Finish()
	}
	r.Close()
	l.Flush()
}

// skip leaves out most of what Tail would drop.
func (l *Lines) skip(log *Log) {
	if l.options.Tail >= 0 && l.options.Stream == "" {
		log.SkipToLast(l.options.Tail)
	}
}

const (
	scanned = 64 << 10 // bytes that are read at a time, from a file's end
	// lookedBack is how far a line without an end is looked for, of a stream that
	// has written nothing since.
	lookedBack = 1 << 20
)

// SkipToLast leaves out what comes before the last lines of what there is, so
// that the end of a long log costs no reading of it all. A few more lines may be
// left, and what is compressed is not looked into. Call it before a Reader reads.
func (f *Log) SkipToLast(lines int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := lastLines{left: lines, unknown: lookedBack, open: map[string]bool{}}
	for i, file := range slices.Backward(f.waiting) {
		if file.Reader != io.Reader(file.File) {
			return // it is compressed
		}
		cut, found, err := s.scan(file.File)
		if err != nil {
			return // the Reader will say so
		}
		if !found {
			continue
		}
		if _, err := file.File.Seek(cut, io.SeekStart); err != nil {
			return
		}
		for _, older := range f.waiting[:i] {
			_ = older.File.Close() // only read
		}
		f.waiting = f.waiting[i:]
		return
	}
}

// lastLines looks at records from the end of a log, until as many lines as are
// wanted are complete.
type lastLines struct {
	left    int64           // lines that are still wanted
	unknown int             // bytes in which streams are looked for that were not seen
	open    map[string]bool // streams that were seen: whether the first line so far may have begun earlier
}

// scan looks at a file's records backwards. When it has found enough, they begin
// at cut.
func (s *lastLines) scan(f *os.File) (cut int64, found bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	var window []byte // of the file, from at on
	for at := info.Size(); at > 0; {
		n := min(scanned, at)
		part := make([]byte, n, n+int64(len(window)))
		at -= n
		if _, err := f.ReadAt(part, at); err != nil {
			return 0, false, err
		}
		window = append(part, window...)
		end := bytes.LastIndexByte(window, '\n') + 1 // what is after it is being written
		for end > 0 {
			begin := bytes.LastIndexByte(window[:end-1], '\n') + 1
			if begin == 0 && at > 0 {
				break
			}
			if s.before(window[begin:end]) {
				return at + int64(end), true, nil
			}
			end = begin
		}
		if end > 0 || at > 0 {
			window = window[:max(end, 0)]
		}
	}
	return 0, false, nil
}

// before takes the record that comes before those it has seen; true if that one
// is not needed any more, nor any before it.
func (s *lastLines) before(record []byte) bool {
	stream, partial, ok := kindOf(record)
	if !ok {
		return false
	}
	if partial {
		s.open[stream] = true
		return false
	}
	s.open[stream] = s.left > 0 // a line ends here, so the next one began after it
	if s.left > 0 {
		s.left--
		return false
	}
	s.unknown -= len(record)
	return !s.open[string(runtimeapi.Stdout)] && !s.open[string(runtimeapi.Stderr)] && (len(s.open) == 2 || s.unknown < 0)
}
