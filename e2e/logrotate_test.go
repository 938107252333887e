package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestLogRotation: a container that writes much more than its logs may hold is
// shown in full, every line once and in order, and leaves as many files as were
// asked for, the older ones compressed (A-CRI-1, B-LOG-1).
func TestLogRotation(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	dir := t.TempDir()
	run := r.startRun(t, pod("rotate", `
restartPolicy: Never
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", `
i=0
while [ $i -lt 20 ]; do
  seq $((i * 5000 + 1)) $((i * 5000 + 5000))
  i=$((i + 1))
  sleep 0.1
done
until [ -e /v/rotated ]; do sleep 0.1; done
`, mountV)), "--log-max-size", "50Ki", "--log-max-files", "3", "--keep")
	run.await(run.stdout, "^100000$")
	r.awaitRotated(t)
	assert.Must(t, os.WriteFile(filepath.Join(dir, "rotated"), nil, 0o644))
	got := run.wait()
	var want strings.Builder
	for n := 1; n <= 100000; n++ {
		fmt.Fprintln(&want, n)
	}
	assert.True(t, got.code == 0 && got.stdout == want.String(),
		"exit code %d, %d bytes of output, want %d, ends with %q\n%s", got.code, len(got.stdout), want.Len(), got.stdout[max(0, len(got.stdout)-50):], got.stderr)
	files := r.rotatedFiles(t)
	assert.Require(t, len(files) == 3, "log files %v: want 3", files)
	assert.True(t, strings.HasSuffix(files[1], ".gz") && !strings.HasSuffix(files[2], ".gz"),
		"log files %v: want the older one compressed, and the newest not", files)
	text := unpack(t, files[1])
	assert.True(t, strings.Contains(text, " stdout F "), "%s holds %q", files[1], text[:min(len(text), 100)])
	for _, dir := range []string{"logs", "pods"} { // what is kept on purpose
		assert.NoError(t, os.RemoveAll(filepath.Join(r.dir, dir)))
	}
}

func (r *root) rotatedFiles(t *testing.T) []string {
	t.Helper()
	files := assert.Get(filepath.Glob(filepath.Join(r.dir, "logs/default_rotate_*/main/0.log*"))).Must(t)
	return files
}

// awaitRotated waits until nothing is to be done with the log of a container
// that writes nothing any more.
func (r *root) awaitRotated(t *testing.T) {
	t.Helper()
	var files []string
	for range patience / (50 * time.Millisecond) {
		files = r.rotatedFiles(t)
		log, err := os.Stat(files[0])
		if err == nil && log.Size() <= 50<<10 && len(files) == 3 && strings.HasSuffix(files[1], ".gz") && !strings.HasSuffix(files[2], ".tmp") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("log files %v: want 3, the older one compressed", files)
}

// TestLastWordsRotatedAway: a termination message that falls back to the log is
// the log's end, also when most of that was rotated away (A-CST-14, B-LOG-2).
func TestLastWordsRotatedAway(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 3, pod("rotated-message", `
restartPolicy: Never
containers:
`+shell("main", `
seq 1 20000
sleep 0.5
echo last words
exit 3
`, "terminationMessagePolicy: FallbackToLogsOnError")), "--log-max-size", "10Ki")
	main := containerNamed(t, result.last(t), "main")
	message := main.State.Terminated.Message
	assert.True(t, strings.HasSuffix(message, "20000\nlast words\n"), "termination message ends with %q", message[max(0, len(message)-50):])
}

func unpack(t *testing.T, path string) string {
	t.Helper()
	file := assert.Get(os.Open(path)).Must(t)
	defer func() { _ = file.Close() }()
	unpacked := assert.Get(gzip.NewReader(file)).Must(t)
	text := assert.Get(io.ReadAll(unpacked)).Must(t)
	return string(text)
}
