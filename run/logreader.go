package run

import (
	"bufio"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/agent/crilog"
)

const (
	maxLine       = 1 << 20              // bytes of a line that are kept together
	writerTimeout = time.Second          // for the runtime to close the log after the container's exit
	writerPeriod  = 5 * time.Millisecond // between two looks whether it has
	writerRounds  = 10                   // of writerTimeout, for it to close a file that was rotated away
)

// logReader shows the log of one instance of a container.
type logReader struct {
	printer *printer
	file    *os.File // that is read now; nil before the first
	in      *bufio.Reader
	torn    string // the beginning of a record that is still being written
	stdout  pendingLine
	stderr  pendingLine
}

// pendingLine is what there is of one stream's line that comes in several records.
type pendingLine struct {
	source *source
	at     time.Time // of its first record
	text   []byte
}

func newLogReader(p *printer, container string) *logReader {
	return &logReader{
		printer: p, in: bufio.NewReader(nil),
		stdout: pendingLine{source: &source{container: container}},
		stderr: pendingLine{source: &source{container: container}},
	}
}

// until shows what is written until over, file after file.
func (r *logReader) until(over <-chan struct{}, files *logFiles) {
	for {
		r.readOn()
		if next, ok := files.next(); ok {
			r.leave(files.changed)
			r.take(next)
			continue
		}
		select {
		case <-files.changed:
		case <-over:
			return
		}
	}
}

// leave shows the rest of a file that was rotated away: the runtime may write
// on in it for a moment after the next one is there.
func (r *logReader) leave(changed <-chan struct{}) {
	for range writerRounds {
		if r.file == nil || r.finishFile(changed) {
			return
		}
	}
}

// take begins the next file. A line may begin in one file and end in the next, a
// record does not.
func (r *logReader) take(next crilog.File) {
	r.close()
	r.file = next.File
	r.in.Reset(next.Reader)
}

func (r *logReader) close() {
	if r.torn != "" {
		r.show(r.torn)
		r.torn = ""
	}
	if r.file != nil {
		_ = r.file.Close() // only read
	}
}

// finish shows the rest of the log. False says that somebody may still write:
// there is no telling, or it takes long.
func (r *logReader) finish(files *logFiles) bool {
	for {
		finished := r.finishFile(files.changed)
		files.look()
		next, ok := files.next()
		if !ok {
			return finished
		}
		r.take(next)
	}
}

func (r *logReader) finishFile(changed <-chan struct{}) bool {
	timeout := time.NewTimer(writerTimeout)
	defer timeout.Stop()
	for {
		written, err := isWritten(r.file) // asked before reading, so that nothing comes in between
		r.readOn()
		if !written || err != nil {
			return err == nil
		}
		select {
		case <-changed:
		case <-time.After(writerPeriod):
		case <-timeout.C:
			return false
		}
	}
}

// isWritten says whether somebody has the file open for writing: then, and only
// then, the kernel refuses a read lease.
func isWritten(f *os.File) (bool, error) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return false, err
}

// readOn shows the records that are complete.
func (r *logReader) readOn() {
	for r.file != nil {
		text, err := r.in.ReadString('\n')
		r.torn += text
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.torn = ""
			}
			return
		}
		r.show(r.torn)
		r.torn = ""
	}
}

// show prints one record, or keeps it until its line is complete. A single
// container's output is passed on as it comes.
func (r *logReader) show(text string) {
	record, ok := crilog.Parse(text)
	if !ok {
		return
	}
	if record.Time.IsZero() {
		record.Time = time.Now()
	}
	l := &r.stdout
	if record.Stream == string(runtimeapi.Stderr) {
		l = &r.stderr
	}
	if len(l.text) == 0 {
		l.at = record.Time
	}
	l.text = append(l.text, record.Text...)
	if !record.Partial || r.printer.raw || len(l.text) >= maxLine {
		r.output(l, record.Stream)
	}
}

func (r *logReader) output(l *pendingLine, stream string) {
	if len(l.text) > 0 {
		r.printer.output(l.source, crilog.Record{Time: l.at, Stream: stream, Text: string(l.text)})
	}
	l.text = l.text[:0]
}

// flush shows lines that will get no end any more.
func (r *logReader) flush() {
	r.close()
	r.output(&r.stdout, string(runtimeapi.Stdout))
	r.output(&r.stderr, string(runtimeapi.Stderr))
}
