package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifepod/lifepod/bundle/build/images"
)

// writeImages makes the archive of the carried images. The toolbox tells the names of its
// applets itself, as it is for this machine.
func (t tree) writeImages(ctx context.Context) error {
	dir := filepath.Join(t.work(), "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	applets, err := output(ctx, t.module(), "go", "run", ownModule+"/cmd/toolbox", "--list")
	if err != nil {
		return err
	}
	return images.Write(filepath.Join(dir, "carried.tar"), images.Binaries{
		Architecture: string(t.arch),
		Pause:        filepath.Join(t.work(), "pause"),
		Toolbox:      filepath.Join(t.work(), "toolbox"),
		ToolboxNet:   filepath.Join(t.work(), "toolbox-net"),
		Applets:      strings.Fields(string(applets)),
	})
}
