package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/logfile"
)

func TestLogFileTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("before\n"+strings.Repeat("x\n", 20)+"last\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Repeat("x\n", 11)+"last", logfile.Tail(path, int64(len("before\n")))); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("last", logfile.Tail(path, int64(len("before\n")+40))); diff != "" {
		t.Errorf("tail of what is new (-want +got):\n%s", diff)
	}
}

func TestLogFileTrim(t *testing.T) {
	const most = 8 << 20
	path := filepath.Join(t.TempDir(), "log")
	log, err := logfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Write(make([]byte, most+1)); err != nil {
		t.Fatal(err)
	}
	if err := logfile.Trim(path); err != nil {
		t.Fatal(err)
	}
	// The program that logs still has the file open.
	if _, err := log.WriteString("after\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("after\n", string(got)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Size() != most+1 {
		t.Errorf("older log: %v, %v", info, err)
	}
}
