package podlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

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
	if least, most := 3*len(record), lookedBack+scanned; read < least || read > most {
		t.Errorf("read %d bytes, want %d to %d", read, least, most)
	}
}
