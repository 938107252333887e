package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lifepod/lifepod/bundle/manifest"
)

// packing makes an archive and its manifest of a folder.
type packing struct {
	from, to                  string
	folders                   []string // of from, that go into the archive
	archiveName, manifestName string
	level                     zstd.EncoderLevel
}

// runtimePacking leaves out what lies beside the folders: it went into an image.
func (t tree) runtimePacking() packing {
	return packing{
		from: t.work(), to: t.assets(), folders: []string{"bin", "cni", "images"},
		archiveName: manifest.ArchiveName, manifestName: manifest.Name, level: zstd.SpeedBestCompression,
	}
}

// pack writes the archive, unless it has just what is there to be packed.
func (p packing) pack() error {
	if same, err := p.isPacked(); same || err != nil {
		return err
	}
	started := time.Now()
	size, err := p.archive()
	if err != nil {
		return err
	}
	say("packed %s in %d s: %.1f MiB", p.archiveName, int(time.Since(started).Seconds()), float64(size)/(1<<20))
	return nil
}

// isPacked says whether the archive has just what is there to be packed.
func (p packing) isPacked() (bool, error) {
	text, err := os.ReadFile(filepath.Join(p.to, p.manifestName))
	if err != nil {
		return false, nil //nolint:nilerr // what can't be read is packed anew
	}
	if _, err := os.Stat(filepath.Join(p.to, p.archiveName)); err != nil {
		return false, nil //nolint:nilerr // the same
	}
	var have manifest.Manifest
	if json.Unmarshal(text, &have) != nil {
		return false, nil //nolint:nilerr // the same
	}
	want, err := p.describe()
	return err == nil && have.Digest() == want.Digest(), err
}

// window is how far back an archive refers, in bytes: programs have much in common with those
// before them. To unpack takes as much memory.
const window = 32 << 20

// archive writes the assets and returns the archive's size in bytes. The
// manifest comes last: without it the assets count as missing.
func (p packing) archive() (int64, error) {
	m, err := p.describe()
	if err != nil {
		return 0, fmt.Errorf("describe %s: %w", p.from, err)
	}
	if err := os.MkdirAll(p.to, 0o755); err != nil {
		return 0, err
	}
	target := filepath.Join(p.to, p.archiveName)
	if err := os.Remove(filepath.Join(p.to, p.manifestName)); err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	if err := p.writeArchive(target, m); err != nil {
		return 0, fmt.Errorf("write %s: %w", target, err)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(p.to, p.manifestName), append(text, '\n'), 0o644); err != nil {
		return 0, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// describe lists the files to pack, sorted by path.
func (p packing) describe() (manifest.Manifest, error) {
	var m manifest.Manifest
	for _, dir := range p.folders {
		err := filepath.WalkDir(filepath.Join(p.from, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			file, err := p.describeFile(path)
			m.Files = append(m.Files, file)
			return err
		})
		if err != nil {
			return m, err
		}
	}
	slices.SortFunc(m.Files, manifest.ComparePaths)
	return m, nil
}

func (p packing) describeFile(path string) (manifest.File, error) {
	name, err := filepath.Rel(p.from, path)
	if err != nil {
		return manifest.File{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return manifest.File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return manifest.File{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return manifest.File{}, err
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	return manifest.File{Path: filepath.ToSlash(name), Mode: mode, Size: info.Size(), SHA256: fmt.Sprintf("%x", h.Sum(nil))}, nil
}

// writeArchive is free of times and owners, so that the same sources give the
// same bytes.
func (p packing) writeArchive(target string, m manifest.Manifest) error {
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(p.level), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, f := range m.Files {
		if err := p.appendFile(w, f); err != nil {
			return err
		}
	}
	for _, c := range []io.Closer{w, z, out} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (p packing) appendFile(w *tar.Writer, f manifest.File) error {
	if err := w.WriteHeader(&tar.Header{Name: f.Path, Mode: f.Mode, Size: f.Size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(p.from, f.Path))
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
