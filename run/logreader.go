package run

import (
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/worker/podlog"
)

const maxLine = 1 << 20 // bytes of a line that are kept together

// logReader shows the log of one instance of a container.
type logReader struct {
	printer *printer
	already *shown // what a lifepod before has shown; nil: nothing
	stdout  pendingLine
	stderr  pendingLine
}

// pendingLine is what there is of one stream's line that comes in several records.
type pendingLine struct {
	source *source
	at     time.Time    // of its first record
	until  podlog.Place // of its newest
	text   []byte
}

func newLogReader(p *printer, container string, already *shown) *logReader {
	prefix := p.prefix(container, p.coloured.stdout)
	return &logReader{
		printer: p, already: already,
		stdout: pendingLine{source: &source{container: container, prefix: prefix}},
		stderr: pendingLine{source: &source{container: container, prefix: prefix}},
	}
}

// show prints the record at a place of the log, or keeps it until its line is
// complete. A single container's output is passed on as it comes.
func (r *logReader) show(text string, at podlog.Place) {
	record, ok := podlog.Parse(text)
	if !ok {
		return
	}
	if record.Time.IsZero() {
		record.Time = time.Now()
	}
	l := &r.stdout
	if r.already != nil && r.already.before(l.source.container, record.Stream, at) {
		return
	}
	if record.Stream == string(runtimeapi.Stderr) {
		l = &r.stderr
	}
	if len(l.text) == 0 {
		l.at = record.Time
	}
	l.until = at
	l.text = append(l.text, record.Text...)
	if !record.Partial || r.printer.raw || len(l.text) >= maxLine {
		r.output(l, record.Stream)
	}
}

func (r *logReader) output(l *pendingLine, stream string) {
	if len(l.text) > 0 {
		r.printer.output(l.source, podlog.Record{Time: l.at, Stream: stream, Text: string(l.text)}, l.until)
	}
	l.text = l.text[:0]
}

// flush shows lines that will get no end any more.
func (r *logReader) flush() {
	r.output(&r.stdout, string(runtimeapi.Stdout))
	r.output(&r.stderr, string(runtimeapi.Stderr))
}
