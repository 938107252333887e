package bundle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// replaceFile gives the file at path new content in one step, durably. It leaves an
// equal file alone.
func replaceFile(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := wholefile.WriteMode(path, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
