package podlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// FuzzReader: whatever a log's files hold, rotated and compressed ones too, it
// is read to its end: each record of the files that are not compressed once, in
// order (B-LOG-1).
func FuzzReader(f *testing.F) {
	const record = "2026-01-02T03:04:05.000000006Z stdout F hello\n"
	compressed := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x05\x00\xfa\xffhello\x86\xa6\x106\x05\x00\x00\x00")
	f.Add([]byte(record), []byte(record+record), compressed)
	f.Add([]byte("torn"), []byte("torn too"), compressed[:len(compressed)-5])
	f.Add([]byte("2026 stderr P:X a\nx stdout F\n stdout  \n"), []byte("\n\n\x00"), []byte("\x1f\x8bnothing"))
	f.Add([]byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, current, rotated, packed []byte) {
		path := filepath.Join(t.TempDir(), "0.log")
		for name, content := range map[string][]byte{"": current, ".20260102-030405": rotated, ".20260101-030405.gz": packed} {
			assert.Must(t, os.WriteFile(path+name, content, 0o600))
		}
		text := readAll(t, path)
		want := string(rotated) + string(current)
		assert.Require(t, strings.HasSuffix(text, want), "read %q, which does not end with %q", text, want)
		end, err := Tail(path, 20)
		assert.Require(t, err != nil || len(end) <= 20 && strings.HasSuffix(end, want[max(0, len(want)-20):]), "the last 20 bytes of %q are %q", want, end)
	})
}

// readAll reads a log that nobody writes to, and parses its records.
func readAll(t *testing.T, path string) string {
	log := Open(path, func() {
		if file, err := openRotated(path + ".20260101-030405.gz"); err == nil {
			_ = file.File.Close()
			t.Error("dropped, and all could be read")
		}
	})
	assert.Require(t, log != nil, "there is no log")
	defer log.Close()
	var text strings.Builder
	r := NewReader(log, func(record string) {
		text.WriteString(record)
		parsed, ok := Parse(record)
		assert.True(t, !ok || parsed.Text == "" || strings.HasSuffix(strings.TrimSuffix(record, "\n"), strings.TrimSuffix(parsed.Text, "\n")),
			"record %q has the text %q", record, parsed.Text)
	})
	over := make(chan struct{})
	close(over)
	r.Until(over)
	r.Close()
	return text.String()
}
