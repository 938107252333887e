package timelinetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden compares what a test got with a file of its testdata.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		assert.Must(t, os.MkdirAll("testdata", 0o755))
		assert.Must(t, os.WriteFile(path, got, 0o600))
	}
	want := assert.Get(os.ReadFile(path)).Must(t)
	assert.Deep(t, path, string(want), string(got))
}
