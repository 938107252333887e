package run

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podlog"
)

// What a lifepod before has shown is not shown again, and what it has not is.
func TestShownOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.shown")
	f := newFollow(t, "", "a", "b")
	first := openShown(path)
	f.printer.memory.Store(first)
	_ = f.start("a", 0, "stdout F 1", "stderr F x").Close()
	diff := cmp.Diff("a | 1\na | x\n", f.end())
	assert.Require(t, diff == "", "(-want +got):\n%s", diff)
	first.close()

	f = newFollow(t, "", "a", "b")
	f.already = openShown(path)
	file := f.start("a", 0, "stdout F 1", "stderr F x")
	assert.Must(t, assert.ErrorOf(file.WriteString("2026-01-02T03:04:05.000000007Z stdout F 2\n")))
	_ = file.Close()
	_ = f.start("b", 0, "stdout F b").Close()
	got := f.end()
	assert.True(t, got == "a | 2\nb | b\n" || got == "b | b\na | 2\n", "got %q", got)
}

// A file that can't be read means that everything is shown.
func TestShownDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.shown")
	assert.Must(t, os.WriteFile(path, []byte(`{"a/stdout":12345678901234567890123`), 0o600))
	s := openShown(path)
	place := func(end int64) podlog.Place { return podlog.Place{File: 7, End: end} }
	assert.True(t, !s.before("a", "stdout", place(1)), "a record counts as shown")
	s.note([]item{{mark: mark{stream: "a/stdout", at: place(5)}}})
	s.close()
	if s = openShown(path); !s.before("a", "stdout", place(5)) || s.before("a", "stdout", place(6)) {
		t.Errorf("not remembered: %v", s.until)
	}
	s.close()
}

// What is shown by this lifepod is not taken for what one before has shown.
func TestShownNow(t *testing.T) {
	s := openShown(filepath.Join(t.TempDir(), "uid.shown"))
	defer s.close()
	at := podlog.Place{File: 7, End: 5}
	s.note([]item{{mark: mark{stream: "a/stdout", at: at}}})
	assert.True(t, !s.before("a", "stdout", at), "a record counts as shown by a lifepod before")
}

// The runtime writes the rest of a file that was rotated away while it writes
// the next one already: what is older there than the end of the file before is
// shown, now and by a lifepod that goes on (B-LOG-1).
func TestShownAcrossRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.shown")
	now := func(second int, text string) string {
		return fmt.Sprintf("2026-01-02T03:04:%02d.000000006Z stdout F %s\n", second, text)
	}
	var dir string
	open := func() *follow {
		f := newFollow(t, "", "a")
		if dir == "" {
			dir = f.logDir
		}
		f.logDir = dir
		f.already = openShown(path)
		f.printer.memory.Store(f.already)
		return f
	}
	read := func(f *follow) string {
		status := v1.ContainerStatus{Name: "a", ContainerID: "c", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
		f.see(&status)
		defer f.already.close()
		return f.end()
	}
	write := func(path, records string) {
		t.Helper()
		assert.Must(t, os.WriteFile(path, []byte(records), 0o600))
	}
	f := open()
	log := filepath.Join(dir, criconfig.ContainerLogPath("a", 0))
	assert.Must(t, os.MkdirAll(filepath.Dir(log), 0o700))
	first := now(1, "1") + now(5, "2")
	write(log, first)
	diff := cmp.Diff("1\n2\n", read(f))
	assert.Require(t, diff == "", "(-want +got):\n%s", diff)
	write(log+".20260102-030405", first)
	write(log, now(3, "3"))
	diff = cmp.Diff("3\n", read(open()))
	assert.Require(t, diff == "", "(-want +got):\n%s", diff)
	write(log, now(3, "3")+now(2, "4")) // the clock was set back
	assert.Deep(t, "", "4\n", read(open()))
}
