package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestLetDriversIn: with SELinux the folders of drivers are labelled, all of them, even if one can't
// be (A-PLUG-3).
func TestLetDriversIn(t *testing.T) {
	root := t.TempDir()
	var labelled []string
	err := letDriversIn(root, func(folder string) error {
		assert.NoError(t, assert.ErrorOf(os.Stat(folder)))
		name, _ := filepath.Rel(root, folder)
		labelled = append(labelled, name)
		if name == "plugins" {
			return errors.New("read-only")
		}
		return nil
	})
	assert.Deep(t, "labelled", []string{"plugins_registry", "plugins", "device-plugins"}, labelled)
	assert.ErrorContains(t, "read-only", err)
}
