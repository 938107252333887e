package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/lifepod/lifepod/internal/assert"
)

// stand-ins for the programs.
func imagesBinaries(t *testing.T) Binaries {
	t.Helper()
	dir := t.TempDir()
	b := Binaries{Architecture: "arm64", Pause: filepath.Join(dir, "pause"), Toolbox: []Box{
		{filepath.Join(dir, "toolbox"), []string{"sh", "sleep"}}, {filepath.Join(dir, "toolbox-net"), []string{"serve"}},
	}}
	for path, content := range map[string]string{
		b.Pause: "pause program", b.Toolbox[0].Program: "toolbox program", b.Toolbox[1].Program: "net program",
	} {
		assert.Must(t, os.WriteFile(path, []byte(content), 0o755))
	}
	return b
}

func write(t *testing.T, b Binaries) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "images.tar")
	assert.Must(t, WriteImages(archive, b))
	return archive
}

// contents reads a tar archive into "mode owner name -> link" lines and contents.
func contents(t *testing.T, archive []byte) (lines []string, files map[string]string) {
	t.Helper()
	files = map[string]string{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return lines, files
		}
		assert.Must(t, err)
		assert.True(t, header.ModTime.Equal(time.Unix(0, 0)), "%s has time %v", header.Name, header.ModTime)
		line := fmt.Sprintf("%o %d:%d %s", header.Mode, header.Uid, header.Gid, header.Name)
		if header.Linkname != "" {
			line += " -> " + header.Linkname
		}
		lines = append(lines, line)
		data := assert.Get(io.ReadAll(reader)).Must(t)
		files[header.Name] = string(data)
	}
}

func TestDockerSaveArchive(t *testing.T) {
	archive := write(t, imagesBinaries(t))
	for _, tt := range []struct {
		name string
		want v1.Config
	}{
		{Pause, v1.Config{User: "65535:65535", Entrypoint: []string{"/pause"}, WorkingDir: "/"}},
		{Toolbox, v1.Config{
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
			Cmd: []string{"/bin/sh"}, WorkingDir: "/",
		}},
	} {
		tag := assert.Get(name.NewTag(tt.name)).Must(t)
		image, err := tarball.ImageFromPath(archive, &tag)
		assert.Require(t, err == nil, "read %s: %v", tt.name, err)
		err = validate.Image(image)
		assert.True(t, err == nil, "%s: %v", tt.name, err)
		config := assert.Get(image.ConfigFile()).Must(t)
		assert.Deep(t, fmt.Sprintf("%s: config", tt.name), tt.want, config.Config)
		assert.Deep(t, fmt.Sprintf("%s: platform", tt.name), "linux/arm64", config.OS+"/"+config.Architecture)
	}
}

// unpack writes the archive's files below a folder and gives it.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	data := assert.Get(os.ReadFile(archive)).Must(t)
	dir := t.TempDir()
	_, files := contents(t, data)
	for path, content := range files {
		if strings.HasSuffix(path, "/") {
			continue
		}
		assert.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		assert.Must(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644))
	}
	return dir
}

func TestOCILayout(t *testing.T) {
	index := assert.Get(layout.ImageIndexFromPath(unpack(t, write(t, imagesBinaries(t))))).Must(t)
	// Fast: the library's full check takes every layer of a layout for a
	// compressed one. TestDockerSaveArchive and the digests check the layers.
	assert.NoError(t, validate.Index(index, validate.Fast))
	manifest := assert.Get(index.IndexManifest()).Must(t)
	var names []string
	for _, described := range manifest.Manifests {
		names = append(names, described.Annotations["io.containerd.image.name"])
	}
	assert.Deep(t, "names", []string{Pause, Toolbox}, names)
}

func TestBlobsAreNamedByDigestAndAllUsed(t *testing.T) {
	dir := unpack(t, write(t, imagesBinaries(t)))
	blobs := assert.Get(os.ReadDir(filepath.Join(dir, "blobs", "sha256"))).Must(t)
	got, want := len(blobs), 6
	assert.True(t, got == want, "%d blobs, want %d: manifest, config and layer of each image", got, want)
	for _, blob := range blobs {
		data := assert.Get(os.ReadFile(filepath.Join(dir, "blobs", "sha256", blob.Name()))).Must(t)
		sum := sha256.Sum256(data)
		assert.True(t, hex.EncodeToString(sum[:]) == blob.Name(), "blob %s has digest %x", blob.Name(), sum)
	}
}

func TestLayers(t *testing.T) {
	dir := unpack(t, write(t, imagesBinaries(t)))
	var saved tarball.Manifest
	manifest := assert.Get(os.ReadFile(filepath.Join(dir, "manifest.json"))).Must(t)
	assert.Must(t, json.Unmarshal(manifest, &saved))
	for i, want := range [][]string{
		{"755 0:0 pause"},
		{
			"755 0:0 bin/", "777 0:0 bin/serve -> toolbox-net", "777 0:0 bin/sh -> toolbox", "777 0:0 bin/sleep -> toolbox",
			"755 0:0 bin/toolbox", "755 0:0 bin/toolbox-net",
			"755 0:0 dev/", "755 0:0 etc/", "644 0:0 etc/group", "644 0:0 etc/passwd",
			"755 0:0 etc/ssl/", "755 0:0 etc/ssl/certs/", "555 0:0 proc/", "700 0:0 root/", "755 0:0 run/",
			"555 0:0 sys/", "1777 0:0 tmp/", "755 0:0 usr/", "777 0:0 usr/bin -> ../bin", "755 0:0 var/",
		},
	} {
		data := assert.Get(os.ReadFile(filepath.Join(dir, saved[i].Layers[0]))).Must(t)
		lines, files := contents(t, data)
		assert.Deep(t, fmt.Sprint(saved[i].RepoTags), want, lines)
		assert.True(t, i != 1 || files["bin/toolbox-net"] == "net program", "bin/toolbox-net holds %q", files["bin/toolbox-net"])
	}
}

func TestSameBinariesSameArchive(t *testing.T) {
	first := assert.Get(os.ReadFile(write(t, imagesBinaries(t)))).Must(t)
	second := assert.Get(os.ReadFile(write(t, imagesBinaries(t)))).Must(t)
	assert.True(t, bytes.Equal(first, second), "two archives of the same binaries differ")
}

func TestErrorsNameTheImageAndLeaveNoArchive(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(*Binaries)
		want   string
	}{
		{"no pause", func(b *Binaries) { b.Pause += "-missing" }, "make image lifepod.dev/pause:1"},
		{"no toolbox-net", func(b *Binaries) { b.Toolbox[1].Program += "-missing" }, "make image lifepod.dev/toolbox:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := imagesBinaries(t)
			tt.damage(&b)
			archive := filepath.Join(t.TempDir(), "images.tar")
			err := WriteImages(archive, b)
			assert.True(t, err != nil && strings.Contains(err.Error(), tt.want), "error %v, want %q in it", err, tt.want)
			assert.Fails(t, assert.ErrorOf(os.Stat(archive)), "an archive was written")
		})
	}
}
