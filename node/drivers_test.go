package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestLetDriversIn: with SELinux the folders of drivers are labelled, all of them, even if one can't
// be (A-PLUG-3).
func TestLetDriversIn(t *testing.T) {
	root := t.TempDir()
	var labelled []string
	err := letDriversIn(root, func(folder string) error {
		if _, err := os.Stat(folder); err != nil {
			t.Error(err)
		}
		name, _ := filepath.Rel(root, folder)
		labelled = append(labelled, name)
		if name == "plugins" {
			return errors.New("read-only")
		}
		return nil
	})
	assert.NoDiffIn(t, cmp.Diff([]string{"plugins_registry", "plugins", "device-plugins"}, labelled), "labelled")
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("error %v", err)
	}
}
