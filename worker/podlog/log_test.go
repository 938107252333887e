package podlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestManyWatchers: one inotify instance serves all who watch, each hears of its
// own folder, and a name that is used again is another folder.
func TestManyWatchers(t *testing.T) {
	before := inotifies(t)
	type one struct {
		dir     string
		changed <-chan struct{}
		looked  chan string
	}
	var all []one
	join := func(dir string) func() {
		o := one{dir: dir, looked: make(chan string, 10)}
		var stop func()
		o.changed, stop = watch(dir, func() { o.looked <- "look" }, "0.log")
		all = append(all, o)
		return stop
	}
	first, second := t.TempDir(), t.TempDir()
	stops := []func(){join(first), join(first), join(second)}
	assert.Equal(t, 1, inotifies(t)-before, "inotify instances")
	write := func(path string) {
		assert.Must(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	write(filepath.Join(first, "other"))
	<-all[0].changed
	<-all[1].changed
	write(filepath.Join(second, "0.log.2026"))
	<-all[2].looked
	<-all[2].changed
	assert.True(t, len(all[0].looked)+len(all[1].looked) == 0, "looked for the file of another folder")
	assert.Must(t, os.RemoveAll(second))
	assert.Must(t, os.Mkdir(second, 0o700))
	stops = append(stops, join(second))
	write(filepath.Join(second, "0.log"))
	<-all[3].looked
	folders.lost()
	<-all[0].looked
	for _, stop := range stops {
		stop()
		stop()
	}
	assert.Deep(t, "open watchers", before, inotifies(t))
}

func TestWatchLeavesNothing(t *testing.T) {
	before := inotifies(t)
	for range 3 {
		changed, stop := watch(filepath.Join(t.TempDir(), "missing"), func() {}, "0.log")
		<-changed
		stop()
	}
	assert.Deep(t, "open watchers", before, inotifies(t))
}

func inotifies(t *testing.T) (n int) {
	t.Helper()
	links := assert.Get(filepath.Glob("/proc/self/fd/*")).Must(t)
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.Contains(target, "inotify") {
			n++
		}
	}
	return n
}

func TestParse(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	const stamp = "2026-01-02T03:04:05.000000006Z "
	for _, test := range []struct {
		line string
		want Record
		none bool
	}{
		{line: stamp + "stdout F a b c\n", want: Record{Time: at, Stream: "stdout", Text: "a b c\n"}},
		{line: stamp + "stderr F \n", want: Record{Time: at, Stream: "stderr", Text: "\n"}},
		{line: stamp + "stdout P a\n", want: Record{Time: at, Stream: "stdout", Partial: true, Text: "a"}},
		{line: stamp + "stdout P a\r\n", want: Record{Time: at, Stream: "stdout", Partial: true, Text: "a\r"}},
		{line: stamp + "stdout P:T2 a\n", want: Record{Time: at, Stream: "stdout", Partial: true, Text: "a"}},
		{line: stamp + "stdout F:P a\n", want: Record{Time: at, Stream: "stdout", Text: "a\n"}},
		{line: stamp + "stdout F  a", want: Record{Time: at, Stream: "stdout", Text: " a"}},
		{line: "06Z stdout F torn\n", want: Record{Stream: "stdout", Text: "torn\n"}},
		{line: "the end of P text\n", none: true},
		{line: stamp + "stdout F\n", none: true},
		{line: "\n", none: true},
		{none: true},
	} {
		got, ok := Parse(test.line)
		diff := cmp.Diff(test.want, got)
		assert.True(t, diff == "" && ok != test.none, "Parse(%q): %v (-want +got):\n%s", test.line, ok, diff)
	}
}

// TestSkipToLastSkips: most of a long log is not read for its last lines.
func TestSkipToLastSkips(t *testing.T) {
	const record = "2026-01-02T03:04:05Z stdout F hello\n"
	path := filepath.Join(t.TempDir(), "0.log")
	for _, name := range []string{path, path + ".20260102-030405"} {
		assert.Must(t, os.WriteFile(name, []byte(strings.Repeat(record, 100_000)), 0o600))
	}
	log := Open(path, func() {})
	defer log.Close()
	log.SkipToLast(3)
	read := 0
	r := NewReader(log, func(text string) { read += len(text) })
	over := make(chan struct{})
	close(over)
	r.Until(over)
	r.Close()
	least, most := 3*len(record), lookedBack+scanned
	assert.True(t, read >= least && read <= most, "read %d bytes, want %d to %d", read, least, most)
}
