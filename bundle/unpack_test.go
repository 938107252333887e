package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"

	"github.com/lifepod/lifepod/bundle/manifest"
	"github.com/lifepod/lifepod/internal/assert"
)

// pack makes an archive of files with the given contents.
func pack(t *testing.T, files map[string]string) archive {
	t.Helper()
	var m manifest.Manifest
	var buffer bytes.Buffer
	z := assert.Get(zstd.NewWriter(&buffer)).Must(t)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		m.Files = append(m.Files, manifest.File{
			Path: name, Mode: 0o755, Size: int64(len(content)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
		})
		assert.Must(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o755}))
		assert.Must(t, assert.ErrorOf(w.Write([]byte(content))))
	}
	assert.Must(t, w.Close(), z.Close())
	return archive{manifest: m, compressed: served(buffer.Bytes())}
}

// served is a file with the given content.
func served(content []byte) func() (fs.File, error) {
	return func() (fs.File, error) {
		return fstest.MapFS{"packed": &fstest.MapFile{Data: content}}.Open("packed")
	}
}

func contentOf(t *testing.T, a archive) []byte {
	t.Helper()
	f := assert.Get(a.compressed()).Must(t)
	return assert.Get(io.ReadAll(f)).Must(t)
}

// someFiles is an archive of two files; version makes it another bundle.
func someFiles(t *testing.T, version string) archive {
	return pack(t, map[string]string{"bin/containerd": "program " + version, "cni/bridge": "plugin"})
}

func unpackTo(t *testing.T, root string, a archive) Paths {
	t.Helper()
	p := Paths{Root: root}
	held := assert.Get(p.unpack(t.Context(), a)).Must(t)
	t.Cleanup(func() { held.Close() })
	return p
}

func wantProgram(t *testing.T, p Paths, want string) {
	t.Helper()
	got := assert.Get(os.ReadFile(p.Containerd())).Must(t)
	assert.Deep(t, "unpacked program", want, string(got))
}

// folders lists what lies beside each other below bundle/.
func folders(t *testing.T, p Paths) []string {
	t.Helper()
	entries := assert.Get(os.ReadDir(p.bundles())).Must(t)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestUnpackOnceAndKeep(t *testing.T) {
	root := t.TempDir()
	p := unpackTo(t, root, someFiles(t, "1"))
	wantProgram(t, p, "program 1")
	before := assert.Get(os.Stat(p.Containerd())).Must(t)
	unpackTo(t, root, someFiles(t, "1"))
	after := assert.Get(os.Stat(p.Containerd())).Must(t)
	assert.True(t, os.SameFile(before, after), "the program was unpacked a second time")
}

func TestUnpackAtOnce(t *testing.T) {
	root, a := t.TempDir(), someFiles(t, "1")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			p := Paths{Root: root}
			held, err := p.unpack(context.Background(), a)
			if err != nil {
				t.Error(err)
				return
			}
			defer held.Close()
			assert.NoError(t, assert.ErrorOf(os.Stat(p.Containerd())))
		})
	}
	group.Wait()
	assert.Deep(t, "folders", []string{a.manifest.Digest()}, folders(t, Paths{Root: root}))
}

// Whatever happened to the folder, the next unpacking puts it right.
func TestUnpackRepairs(t *testing.T) {
	tests := map[string]func(p Paths) error{
		"a program was cut off":   func(p Paths) error { return os.Truncate(p.Containerd(), 3) },
		"a program was rewritten": func(p Paths) error { return os.WriteFile(p.Containerd(), []byte("evil"), 0o755) },
		"a program is missing":    func(p Paths) error { return os.Remove(p.Containerd()) },
		"the mark is missing":     func(p Paths) error { return os.Remove(filepath.Join(p.Bundle, completeName)) },
		"the mark is torn":        func(p Paths) error { return os.Truncate(filepath.Join(p.Bundle, completeName), 5) },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			root, a := t.TempDir(), someFiles(t, "1")
			p := unpackTo(t, root, a)
			assert.Must(t, damage(p))
			wantProgram(t, unpackTo(t, root, a), "program 1")
		})
	}
}

func TestUnpackSweepsInterrupted(t *testing.T) {
	root, a := t.TempDir(), someFiles(t, "1")
	half := filepath.Join(root, "bundle", partialPrefix+"123", "bin")
	assert.Must(t, os.MkdirAll(half, 0o755))
	p := unpackTo(t, root, a)
	assert.Deep(t, "folders", []string{a.manifest.Digest()}, folders(t, p))
}

func TestUnpackRefusesDamagedArchive(t *testing.T) {
	whole := someFiles(t, "1")
	bytes := contentOf(t, whole)
	for name, test := range map[string]struct {
		archive archive
		want    string
	}{
		"cut off":     {archive{whole.manifest, served(bytes[:len(bytes)-9])}, "unexpected EOF"},
		"other bytes": {archive{whole.manifest, someFiles(t, "2").compressed}, "bin/containerd is damaged: its sha256 is"},
		"more files":  {archive{whole.manifest, pack(t, map[string]string{"bin/more": "x"}).compressed}, `the archive has "bin/more"`},
		"fewer files": {archive{whole.manifest, pack(t, map[string]string{"cni/bridge": "plugin"}).compressed}, `the archive lacks "bin/containerd"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := Paths{Root: t.TempDir()}
			_, err := p.unpack(t.Context(), test.archive)
			assert.True(t, err != nil && strings.Contains(err.Error(), test.want), "error %v, want one with %q", err, test.want)
			got := folders(t, p)
			assert.True(t, len(got) == 0, "left behind: %q", got)
		})
	}
}

func TestUnpackRemovesUnusedVersions(t *testing.T) {
	root := t.TempDir()
	old := Paths{Root: root}
	held := assert.Get(old.unpack(t.Context(), someFiles(t, "1"))).Must(t)
	current := unpackTo(t, root, someFiles(t, "2"))
	got := folders(t, current)
	assert.Require(t, len(got) == 2, "folders %q: want both, because the old one is in use", got)
	assert.Must(t, held.Close())
	unpackTo(t, root, someFiles(t, "2"))
	assert.Deep(t, "folders", []string{filepath.Base(current.Bundle)}, folders(t, current))
}

func TestWithoutAssets(t *testing.T) {
	_, err := readAssets(fstest.MapFS{"assets/README.md": &fstest.MapFile{}}, manifest.Name, manifest.ArchiveName)
	assert.True(t, errors.Is(err, ErrNotBuilt), "error %v, want %v", err, ErrNotBuilt)
}

func TestManifestRefusesEscape(t *testing.T) {
	files := fstest.MapFS{"assets/manifest.json": &fstest.MapFile{Data: []byte(`{"files":[{"path":"../evil"}]}`)}}
	_, err := readAssets(files, manifest.Name, manifest.ArchiveName)
	assert.True(t, err != nil && strings.Contains(err.Error(), `"../evil" is not a relative path`), "error %v, want the path refused", err)
}
