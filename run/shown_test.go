package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What a lifepod before has shown is not shown again, and what it has not is.
func TestShownOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.shown")
	f := newFollow(t, "", "a", "b")
	first := openShown(path)
	f.printer.stdout.memory.Store(first)
	_ = f.start("a", 0, "stdout F 1", "stderr F x").Close()
	if diff := cmp.Diff("a | 1\na | x\n", f.end()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	first.close()

	f = newFollow(t, "", "a", "b")
	f.already = openShown(path)
	file := f.start("a", 0, "stdout F 1", "stderr F x")
	if _, err := file.WriteString("2026-01-02T03:04:05.000000007Z stdout F 2\n"); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	_ = f.start("b", 0, "stdout F b").Close()
	got := f.end()
	if got != "a | 2\nb | b\n" && got != "b | b\na | 2\n" {
		t.Errorf("got %q", got)
	}
}

// A file that can't be read means that everything is shown.
func TestShownDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.shown")
	if err := os.WriteFile(path, []byte(`{"a/stdout":12345678901234567890123`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openShown(path)
	if s.before("a", "stdout", time.Unix(0, 1)) {
		t.Error("a record counts as shown")
	}
	s.note([]item{{mark: mark{stream: "a/stdout", at: 5}}})
	s.close()
	if s = openShown(path); !s.before("a", "stdout", time.Unix(0, 5)) || s.before("a", "stdout", time.Unix(0, 6)) {
		t.Errorf("not remembered: %v", s.until)
	}
	s.close()
}
