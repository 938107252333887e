package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestManyLines: everything arrives, in order, also what a container writes
// right before it ends.
func TestManyLines(t *testing.T) {
	t.Parallel()
	got := shared.run(t, script("many", "seq 1 100000"))
	var want strings.Builder
	for n := 1; n <= 100000; n++ {
		fmt.Fprintln(&want, n)
	}
	assert.True(t, got.code == 0 && got.stdout == want.String(),
		"exit code %d, %d bytes of output, want %d, ends with %q", got.code, len(got.stdout), want.Len(), got.stdout[max(0, len(got.stdout)-50):])
}

// TestLastWords: a single line right before the end is never lost.
func TestLastWords(t *testing.T) {
	t.Parallel()
	for range 10 {
		got := shared.run(t, pod("last", "restartPolicy: Never\ncontainers:\n- {name: main, image: TOOLBOX, command: [echo, last words]}"))
		assert.Require(t, got.stdout == "last words\n", "stdout %q\n%s", got.stdout, got.stderr)
	}
}

// TestLongAndBinaryOutput reaches standard output unharmed; standard error is
// the container's, too.
func TestLongAndBinaryOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var data []byte
	for n := range 300 << 10 { // every byte, a first line of 100 KiB, no newline at the end
		b := byte(n * 7)
		if b == '\n' && n < 100<<10 {
			b = 'x'
		}
		data = append(data, b)
	}
	data = append(data, "end"...)
	assert.Must(t, os.WriteFile(filepath.Join(dir, "data"), data, 0o644))
	got := shared.run(t, pod("binary", `
restartPolicy: Never
volumes: [{name: v, hostPath: {path: `+dir+`}}]
containers:
`+shell("main", "cat /v/data", mountV)))
	assert.True(t, got.stdout == string(data),
		"%d bytes with the sum %x arrived, want %d with %x", len(got.stdout), sha256.Sum256([]byte(got.stdout)), len(data), sha256.Sum256(data))
}

// TestStreams: with -o json output says which stream it was on.
func TestStreams(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, script("both-streams", "echo out; echo err >&2; echo -n open"))
	got := map[string]string{}
	for _, o := range result {
		if o.Type == "output" {
			got[*o.Text] = o.Stream
		}
	}
	assert.Deep(t, "", map[string]string{"out\n": "stdout", "err\n": "stderr", "open": "stdout"}, got)
}

// TestKeep leaves the logs, a file per instance in the CRI layout, and the
// volumes, and says where.
func TestKeep(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	got := r.run(t, pod("kept", `
restartPolicy: OnFailure
volumes: [{name: v, emptyDir: {}}]
containers:
`+shell("main", "echo instance >&2; "+twice("1", "0"), mountV)), "--rm=false")
	assert.True(t, got.code == 0 && regexp.MustCompile(`(?m)^kept: `).MatchString(got.stderr), "exit code %d, stderr\n%s", got.code, got.stderr)
	logs, err := filepath.Glob(filepath.Join(r.dir, "logs/default_kept_*/main/*.log"))
	assert.Require(t, err == nil && len(logs) == 2, "logs %v, %v", logs, err)
	line := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d) stderr F instance\n$`)
	for n, path := range logs {
		assert.True(t, filepath.Base(path) == fmt.Sprintf("%d.log", n), "log %s", path)
		text, err := os.ReadFile(path)
		assert.True(t, err == nil && line.Match(text), "%s holds %q, %v", path, text, err)
		assert.True(t, strings.Contains(got.stderr, filepath.Dir(filepath.Dir(path))), "stderr doesn't say where the logs are: %s", got.stderr)
	}
	kept, err := filepath.Glob(filepath.Join(r.dir, "pods/*/volumes/kubernetes.io~empty-dir/v/once"))
	assert.True(t, err == nil && len(kept) == 1, "kept files %v, %v", kept, err)
	for _, dir := range []string{"logs", "pods"} { // what is kept on purpose
		assert.NoError(t, os.RemoveAll(filepath.Join(r.dir, dir)))
	}
}
