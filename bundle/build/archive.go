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

	"github.com/klauspost/compress/zstd"

	"github.com/lifepod/lifepod/bundle/manifest"
)

const (
	archiveName  = manifest.ArchiveName
	manifestName = manifest.Name
)

// packed are the folders of the work folder that go into the archive; what
// lies beside them went into an image.
var packed = []string{"bin", "cni", "images"}

// archive writes the assets and returns the archive's size in bytes. The
// manifest comes last: without it the assets count as missing.
func (t tree) archive() (int64, error) {
	m, err := t.describe()
	if err != nil {
		return 0, fmt.Errorf("describe %s: %w", t.work(), err)
	}
	target := filepath.Join(t.assets(), archiveName)
	if err := os.Remove(filepath.Join(t.assets(), manifestName)); err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	if err := t.writeArchive(target, m); err != nil {
		return 0, fmt.Errorf("write %s: %w", target, err)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(t.assets(), manifestName), append(text, '\n'), 0o644); err != nil {
		return 0, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// describe lists the files to pack, sorted by path.
func (t tree) describe() (manifest.Manifest, error) {
	var m manifest.Manifest
	for _, dir := range packed {
		err := filepath.WalkDir(filepath.Join(t.work(), dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			file, err := t.describeFile(path)
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

func (t tree) describeFile(path string) (manifest.File, error) {
	name, err := filepath.Rel(t.work(), path)
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
func (t tree) writeArchive(target string, m manifest.Manifest) error {
	out, err := os.Create(target)
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, f := range m.Files {
		if err := t.appendFile(w, f); err != nil {
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

func (t tree) appendFile(w *tar.Writer, f manifest.File) error {
	if err := w.WriteHeader(&tar.Header{Name: f.Path, Mode: f.Mode, Size: f.Size, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(t.work(), f.Path))
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
