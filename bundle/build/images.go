package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
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

// The names that the images have in the runtime.
const (
	Pause   = "lifepod.dev/pause:1"
	Toolbox = "lifepod.dev/toolbox:1"
)

// Binaries are the paths of the programs in the images.
type Binaries struct {
	Architecture string // that they are built for, as Go calls it
	Pause        string
	Toolbox      []Box
}

// Box is a program with many names.
type Box struct {
	Program string
	Applets []string
}

// WriteImages makes the archive of both images.
func WriteImages(archive string, b Binaries) error {
	pause, err := pauseImage(b)
	if err != nil {
		return fmt.Errorf("make image %s: %w", Pause, err)
	}
	toolbox, err := toolboxImage(b)
	if err != nil {
		return fmt.Errorf("make image %s: %w", Toolbox, err)
	}
	if err := writeArchive(archive, []named{{Pause, pause}, {Toolbox, toolbox}}); err != nil {
		return fmt.Errorf("write image archive %q: %w", archive, err)
	}
	return nil
}

func pauseImage(b Binaries) (v1.Image, error) {
	program, err := os.ReadFile(b.Pause)
	if err != nil {
		return nil, err
	}
	// The user of Kubernetes' own pause image: it needs no rights at all.
	return image(b.Architecture, v1.Config{User: "65535:65535", Entrypoint: []string{"/pause"}, WorkingDir: "/"}, []entry{
		file("pause", 0o755, program),
	})
}

func toolboxImage(b Binaries) (v1.Image, error) {
	entries := rootFiles()
	for _, box := range b.Toolbox {
		program, err := os.ReadFile(box.Program)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(box.Program)
		entries = append(entries, file("bin/"+name, 0o755, program))
		for _, applet := range box.Applets {
			entries = append(entries, link("bin/"+applet, name))
		}
	}
	return image(b.Architecture, v1.Config{
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Cmd: []string{"/bin/sh"}, WorkingDir: "/",
	}, entries)
}

// rootFiles are what programs expect of a root file system.
func rootFiles() []entry {
	return []entry{
		folder("bin", 0o755),
		folder("dev", 0o755),
		folder("etc", 0o755),
		file("etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n")),
		file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")),
		folder("etc/ssl", 0o755),
		folder("etc/ssl/certs", 0o755),
		folder("proc", 0o555),
		folder("root", 0o700),
		folder("run", 0o755),
		folder("sys", 0o555),
		folder("tmp", 0o1777),
		folder("usr", 0o755),
		link("usr/bin", "../bin"),
		folder("var", 0o755),
	}
}

// image has one layer, and nothing in it that depends on when it is built.
func image(architecture string, config v1.Config, entries []entry) (v1.Image, error) {
	content, err := layer(entries)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err = mutate.ConfigFile(base, &v1.ConfigFile{
		Architecture: architecture, OS: "linux", Created: v1.Time{Time: built}, Config: config,
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(base, mutate.Addendum{
		Layer:   static.NewLayer(content, types.OCIUncompressedLayer),
		History: v1.History{Created: v1.Time{Time: built}, CreatedBy: "lifepod bundle/build"},
	})
}
