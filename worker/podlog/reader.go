package podlog

import (
	"bufio"
	"errors"
	"io"
	"os"
	"time"

	"github.com/lifepod/lifepod/internal/pathwatch"
)

const (
	writerTimeout = time.Second          // for the runtime to close the log after the container's exit
	writerPeriod  = 5 * time.Millisecond // between two looks whether it has
)

// Reader reads a log record by record, across its files.
type Reader struct {
	log  *Log
	show func(record string)
	file *os.File // that is read now; nil before the first
	in   *bufio.Reader
	torn string // the beginning of a record that is still being written
	at   Place  // of the record that was shown last, in file
}

// NewReader reads a log for show, which gets each record with its newline. Close
// it; the log is its owner's to close.
func NewReader(log *Log, show func(record string)) *Reader {
	return &Reader{log: log, show: show, in: bufio.NewReader(nil)}
}

// Until shows what is written until over, file after file.
func (r *Reader) Until(over <-chan struct{}) {
	for {
		r.readOn()
		if next, ok := r.log.next(); ok {
			r.leave()
			r.take(next)
			continue
		}
		select {
		case <-r.log.changed:
		case <-over:
			return
		}
	}
}

// leave shows the rest of a file that was rotated away: the runtime writes on in it
// after the next one is there, for a moment, or for as long as the disk holds it up.
func (r *Reader) leave() {
	if r.file == nil {
		return
	}
	for rest := (rest{since: time.Now()}); ; {
		written, err := pathwatch.IsWritten(r.file) // asked before reading, so that nothing comes in between
		came := r.readOn()
		switch rest.judge(time.Now(), came, written, err) {
		case restRead:
			return
		case restGivenUp:
			r.log.drop()
			return
		case restComes:
		}
		select {
		case <-r.log.changed:
		case <-time.After(writerPeriod):
		}
	}
}

// take begins the next file. A line may begin in one file and end in the next, a
// record does not.
func (r *Reader) take(next File) {
	r.Close()
	r.file, r.at = next.File, Place{}
	r.in.Reset(next.Reader)
}

// Close shows the beginning of a record that gets no end any more.
func (r *Reader) Close() {
	if r.torn != "" {
		r.pass()
	}
	if r.file != nil {
		_ = r.file.Close() // only read
	}
}

// Finish shows the rest of the log. False says that somebody may still write:
// there is no telling, or it takes long.
func (r *Reader) Finish() bool {
	for {
		finished := r.finishFile()
		r.log.look()
		next, ok := r.log.next()
		if !ok {
			return finished
		}
		r.leave()
		r.take(next)
	}
}

func (r *Reader) finishFile() bool {
	timeout := time.NewTimer(writerTimeout)
	defer timeout.Stop()
	for {
		written, err := pathwatch.IsWritten(r.file) // asked before reading, so that nothing comes in between
		r.readOn()
		if !written || err != nil {
			return err == nil
		}
		select {
		case <-r.log.changed:
		case <-time.After(writerPeriod):
		case <-timeout.C:
			return false
		}
	}
}

// readOn shows the records that are complete, and says whether anything came.
func (r *Reader) readOn() (came bool) {
	for r.file != nil {
		text, err := r.in.ReadString('\n')
		r.torn += text
		came = came || text != ""
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.torn = ""
			}
			return came
		}
		r.pass()
	}
	return false
}

// pass shows what there is of a record.
func (r *Reader) pass() {
	r.at.End += int64(len(r.torn))
	if r.at.File == 0 {
		if record, ok := Parse(r.torn); ok && !record.Time.IsZero() {
			r.at.File = record.Time.UnixNano()
		}
	}
	r.show(r.torn)
	r.torn = ""
}

// Place is where the record is that is being shown, of a log that is read from
// its beginning. The zero File says that there is no telling.
func (r *Reader) Place() Place { return r.at }
