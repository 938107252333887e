package objects

import (
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/powercut"
)

// A restart after a power cut may find no API server to read Services from.
func TestKeptSurvivesPowerCut(t *testing.T) {
	disk := powercut.NewDisk(t)
	path := filepath.Join(disk.Dir, "services.json")
	disk.Settle()
	before := &kept{path: path}
	assert.Must(t, before.write([]any{service("default", "db", "10.0.0.1")}))
	disk.Cut()
	after := &kept{path: path}
	if err := after.read(); err != nil || after.services == nil || len(after.services.List()) != 1 {
		t.Errorf("after a power cut: %v, %v", after.services, err)
	}
}
