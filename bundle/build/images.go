package main

import (
	"context"
	"os"
	"path/filepath"
)

// writeImages makes the archive of the carried images from the pause and
// toolbox programs.
func (t tree) writeImages(ctx context.Context) error {
	dir := filepath.Join(t.work(), "images")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}
