package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/logfile"
)

func TestLogFileTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	assert.Must(t, os.WriteFile(path, []byte("before\n"+strings.Repeat("x\n", 20)+"last\n"), 0o600))
	assert.Deep(t, "tail", strings.Repeat("x\n", 11)+"last", logfile.Tail(path, int64(len("before\n"))))
	assert.Deep(t, "tail of what is new", "last", logfile.Tail(path, int64(len("before\n")+40)))
}

func TestLogFileTrim(t *testing.T) {
	const most = 8 << 20
	path := filepath.Join(t.TempDir(), "log")
	log := assert.Get(logfile.Open(path)).Must(t)
	defer log.Close()
	assert.Must(t, assert.ErrorOf(log.Write(make([]byte, most+1))))
	assert.Must(t, logfile.Trim(path))
	// The program that logs still has the file open.
	assert.Must(t, assert.ErrorOf(log.WriteString("after\n")))
	got := assert.Get(os.ReadFile(path)).Must(t)
	assert.Deep(t, "log", "after\n", string(got))
	info, err := os.Stat(path + ".1")
	assert.True(t, err == nil && info.Size() == most+1, "older log: %v, %v", info, err)
}
