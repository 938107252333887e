package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

)

// carriedImages is the archive of the carried images.
func (t tree) carriedImages() string { return filepath.Join(t.work(), "images", "carried.tar") }

// writeImages makes the archive of the carried images.
func (t tree) writeImages(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(t.carriedImages()), 0o755); err != nil {
		return err
	}
	applets, err := t.applets(ctx)
	if err != nil {
		return err
	}
	return WriteImages(t.carriedImages(), Binaries{
		Architecture: string(t.arch),
		Pause:        filepath.Join(t.work(), "pause"),
		Toolbox:      filepath.Join(t.work(), "toolbox"),
		ToolboxNet:   filepath.Join(t.work(), "toolbox-net"),
		Applets:      strings.Fields(string(applets)),
	})
}

// applets are the toolbox's, which tells them itself: one for another architecture is
// built for this machine, too.
func (t tree) applets(ctx context.Context) ([]byte, error) {
	if t.arch.foreign() {
		return output(ctx, t.module(), "go", "run", ownModule+"/cmd/toolbox", "--list")
	}
	return output(ctx, t.work(), filepath.Join(t.work(), "toolbox"), "--list")
}
