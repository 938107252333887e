package volumes

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// B-FIN-6: folders with more entries than are read at a time are deleted whole.
func TestRemoveMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pod")
	for _, folder := range []string{"a", "b"} {
		for n := range 2500 {
			path := filepath.Join(dir, folder, fmt.Sprint(n))
			assert.Must(t, os.MkdirAll(path, 0o700))
		}
	}
	assert.NoError(t, Remove(dir))
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(os.Lstat(dir)), "the folder is left")
}
