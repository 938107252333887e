package main

import (
	"os"
	"path/filepath"

	"github.com/lifepod/lifepod/bundle/build/images"
)

// writeImages makes the archive of the carried images.
func (t tree) writeImages() error {
	dir := filepath.Join(t.work(), "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return images.Write(filepath.Join(dir, "carried.tar"), images.Binaries{
		Pause:      filepath.Join(t.work(), "pause"),
		Toolbox:    filepath.Join(t.work(), "toolbox"),
		ToolboxNet: filepath.Join(t.work(), "toolbox-net"),
	})
}
