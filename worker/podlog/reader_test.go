package podlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// A file that was rotated away is read for as long as something comes, or the runtime
// may be held up; not for ever (B-LOG-1).
func TestRest(t *testing.T) {
	noLeases := errors.New("no leases")
	type look struct {
		at            time.Duration
		came, written bool
		err           error
		want          verdict
	}
	for name, looks := range map[string][]look{
		"closed":        {{0, false, false, nil, restRead}},
		"closed, rest":  {{0, true, false, nil, restRead}},
		"held up":       {{5 * time.Second, false, true, nil, restComes}, {50 * time.Second, false, true, nil, restComes}, {51 * time.Second, true, false, nil, restRead}},
		"slow":          {{50 * time.Second, true, true, nil, restComes}, {100 * time.Second, true, true, nil, restComes}, {159 * time.Second, false, true, nil, restComes}},
		"never closed":  {{59 * time.Second, false, true, nil, restComes}, {60 * time.Second, false, true, nil, restGivenUp}},
		"no telling":    {{0, false, false, noLeases, restComes}, {time.Second, false, false, noLeases, restRead}},
		"no, but comes": {{900 * time.Millisecond, true, false, noLeases, restComes}, {time.Second, false, false, noLeases, restComes}},
	} {
		start := time.Now()
		r := rest{since: start}
		for _, l := range looks {
			assert.Equal(t, l.want, r.judge(start.Add(l.at), l.came, l.written, l.err), "%s: after %v", name, l.at)
		}
	}
}

// The end of a container does not hurry the reader: what the runtime still writes to
// a file that was rotated away comes before the next one's lines (B-LOG-1).
func TestFinishAwaitsRotatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	open := func() *os.File {
		return assert.Get(os.Create(path)).Must(t)
	}
	write := func(file *os.File, text string) {
		assert.Must(t, assert.ErrorOf(fmt.Fprintf(file, "2026-01-02T03:04:05.000000006Z stdout F %s\n", text)))
	}
	old := open()
	write(old, "1")
	log := Open(path, func() { t.Error("dropped") })
	defer log.Close()
	assert.Must(t, os.Rename(path, path+".20260102-030405"))
	next := open()
	write(next, "3")
	_ = next.Close()
	var got strings.Builder
	r := NewReader(log, func(record string) {
		parsed, _ := Parse(record)
		got.WriteString(parsed.Text)
	})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		r.Finish()
		r.Close()
	}()
	time.Sleep(writerTimeout + 500*time.Millisecond) // longer than the current file is awaited
	write(old, "2")
	_ = old.Close()
	<-finished
	assert.Deep(t, "", "1\n2\n3\n", got.String())
}
