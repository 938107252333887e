package podlog

import (
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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
