package internal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// What Write has written is there after a power cut, the name included.
func TestWholeFileSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	folder := filepath.Join(disk.Dir, "folder")
	assert.Must(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "file")
	for _, content := range []string{"the first content", "the second one, which replaces it"} {
		disk.Settle()
		assert.Must(t, wholefile.Write(path, []byte(content)))
		disk.Cut()
		text, err := os.ReadFile(path)
		if err != nil || string(text) != content {
			t.Errorf("after a power cut: %q, %v; want %q", text, err, content)
		}
	}
}
