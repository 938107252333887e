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
	b := Binaries{Architecture: string(t.arch), Pause: filepath.Join(t.work(), "pause")}
	for _, name := range []string{"toolbox", "toolbox-net"} {
		applets, err := t.applets(ctx, name)
		if err != nil {
			return err
		}
		b.Toolbox = append(b.Toolbox, Box{Program: filepath.Join(t.work(), name), Applets: strings.Fields(string(applets))})
	}
	return WriteImages(t.carriedImages(), b)
}

// applets are those of a program of the toolbox, which tells them itself: one for another
// architecture is built for this machine, too.
func (t tree) applets(ctx context.Context, name string) ([]byte, error) {
	if t.arch.foreign() {
		return output(ctx, t.module(), "go", "run", ownModule+"/cmd/"+name, "--list")
	}
	return output(ctx, t.work(), filepath.Join(t.work(), name), "--list")
}
