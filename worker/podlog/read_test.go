package podlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/worker/podlog"
)

// TestSkipToLast: whatever a log holds, in however many files, its last lines
// are the same when the rest was left out (B-LOG-1).
func TestSkipToLast(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "0.log")
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.Custom(func(t *rapid.T) string {
			stream := rapid.SampledFrom([]string{"stdout", "stdout", "stdout", "stderr", "none"}).Draw(t, "stream")
			tag := rapid.SampledFrom([]string{"F", "F", "F", "P", "P:X"}).Draw(t, "tag")
			size := rapid.SampledFrom([]int{0, 1, 2, 9, 20000}).Draw(t, "size")
			return fmt.Sprintf("2026-01-02T03:04:05Z %s %s %s\n", stream, tag, strings.Repeat("x", size)+fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "text")))
		})
		rotated := rapid.SliceOfN(record, 0, 8).Draw(t, "rotated")
		current := rapid.SliceOfN(record, 0, 8).Draw(t, "current")
		torn := rapid.SampledFrom([]string{"", "2026-01-02T03:0", "2026-01-02T03:04:05Z stdout F tor"}).Draw(t, "torn")
		lines := rapid.Int64Range(0, 9).Draw(t, "lines")
		write := func(path, text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(path+".20260102-030405", strings.Join(rotated, ""))
		write(path, strings.Join(current, "")+torn)
		read := func(skip bool) string {
			log := podlog.Open(path, func() {})
			if log == nil {
				t.Fatal("there is no log")
			}
			defer log.Close()
			var text strings.Builder
			last := podlog.NewLines(&text, podlog.LineOptions{Tail: lines})
			if skip {
				last.All(log)
				return text.String()
			}
			over := make(chan struct{})
			close(over)
			r := podlog.NewReader(log, last.Record)
			r.Until(over)
			r.Close()
			last.Flush()
			last.Live()
			return text.String()
		}
		if diff := cmp.Diff(read(false), read(true)); diff != "" {
			t.Fatalf("last %d lines (-all +skipped):\n%s", lines, diff)
		}
	})
}
