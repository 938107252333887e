package podlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestKeepBegun: B-LOG-1: the oldest file that is left is read with the beginnings of the lines whose ends are in it.
func TestKeepBegun(t *testing.T) {
	const at = "2026-01-02T03:04:05Z "
	const first, second, third = ".20260101-000001", ".20260101-000002", ".20260101-000003"
	long := at + "stdout P " + strings.Repeat("x", maxBegun/20) + "\n"
	for _, tc := range []struct {
		name   string
		files  map[string]string // by what follows the log's name
		remove []string
		want   string
	}{
		{"whole lines", map[string]string{first: at + "stdout F 1\n", second: at + "stdout F 2\n"}, []string{first}, at + "stdout F 2\n"},
		{
			"a line in two files", map[string]string{first + Compressed: at + "stdout F 1\n" + at + "stdout P 2\n", second: at + "stdout F 3\n"},
			[]string{first + Compressed}, at + "stdout P 2\n" + at + "stdout F 3\n",
		},
		{
			"in three", map[string]string{first: at + "stdout P 1\n", second + Compressed: at + "stdout P:T 2\n", third: at + "stdout F 3\n"},
			[]string{first, second + Compressed}, at + "stdout P 1\n" + at + "stdout P:T 2\n" + at + "stdout F 3\n",
		},
		{
			"of both streams", map[string]string{first: at + "stderr P e\n" + at + "stdout P 1\n", second: at + "stderr F\n" + at + "stderr F f\n", third: at + "stdout F 3\n"},
			[]string{first, second}, at + "stdout P 1\n" + at + "stdout F 3\n",
		},
		{
			"of a file before", map[string]string{first: at + "stdout P 1\n", second: at + "stdout F 2\n", third: at + "stdout F 3\n"},
			[]string{first, second}, at + "stdout F 3\n",
		},
		{"too long", map[string]string{first: strings.Repeat(long, 21), second: at + "stdout F 2\n"}, []string{first}, at + "stdout F 2\n"},
		{"no record", map[string]string{first: "P\nstdout P", second: at + "stdout F 2\n"}, []string{first}, at + "stdout F 2\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "0.log")
			put(t, log, "")
			for name, text := range tc.files {
				put(t, log+name, text)
			}
			for _, name := range tc.remove {
				older := assert.Get(Rotated(log)).Must(t)
				assert.NoError(t, KeepBegun(log, older[0], older[1]))
				before := readRecords(t, log)
				assert.True(t, strings.Count(before, "stdout P 1\n") <= 1, "before the file is removed: %q", before)
				assert.Must(t, os.Remove(log+name))
			}
			assert.Deep(t, "", tc.want, readRecords(t, log))
			assert.NoError(t, RemoveAll(log))
			left, err := os.ReadDir(filepath.Dir(log))
			assert.True(t, err == nil && len(left) == 0, "left: %v, %v", left, err)
		})
	}
}

// TestKeepBegunFollowsNoLinks: what a pod with the folder of logs as a hostPath puts in the file's place is neither
// written nor read.
func TestKeepBegunFollowsNoLinks(t *testing.T) {
	const record = "2026-01-02T03:04:05Z stdout P secret\n"
	log := filepath.Join(t.TempDir(), "0.log")
	victim := filepath.Join(t.TempDir(), "victim")
	put(t, log+".20260101-000001", record)
	put(t, log+".20260101-000002", "")
	put(t, log, "")
	put(t, victim, "20260101-000001\n"+record)
	link := filepath.Join(filepath.Dir(log), ".0.log.begun")
	assert.Must(t, os.Symlink(victim, link))
	assert.Equal(t, record, readRecords(t, log), "read")
	assert.NoError(t, KeepBegun(log, log+".20260101-000001", log+".20260101-000002"))
	text, err := os.ReadFile(victim)
	assert.True(t, err == nil && string(text) == "20260101-000001\n"+record, "written: %q, %v", text, err)
	info, err := os.Lstat(link)
	assert.True(t, err == nil && info.Mode().IsRegular(), "%v, %v", info, err)
}

// readRecords is what a reader of the whole log gets that is a record.
func readRecords(t *testing.T, path string) (text string) {
	t.Helper()
	for record := range strings.SplitAfterSeq(readAll(t, path), "\n") {
		if _, ok := Parse(record); ok {
			text += record
		}
	}
	return text
}
