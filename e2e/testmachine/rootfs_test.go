package testmachine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRemoveOthers: archives of other architectures and releases are kept.
func TestRemoveOthers(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"root-amd64-0123.tar", "root-amd64-4567.tar", "root-arm64-0123.tar", "root-trixie-amd64-0123.tar"} {
		assert.Must(t, os.WriteFile(filepath.Join(cache, name), nil, 0o644))
	}
	amd64 := assert.Get(findArchitecture("amd64")).Must(t)
	amd64.suite = bookworm
	assert.Must(t, amd64.removeOthers(cache))
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	diff := cmp.Diff([]string{filepath.Join(cache, "root-arm64-0123.tar"), filepath.Join(cache, "root-trixie-amd64-0123.tar")}, left)
	assert.True(t, diff == "" && err == nil, "what is left (-want +got), %v:\n%s", err, diff)
}
