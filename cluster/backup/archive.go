package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	manifestName = "manifest.json"
	snapshotName = "etcd.db"
	dataPrefix   = "data/"
)

// format is what this package writes and reads.
const format = 1

type Manifest struct {
	Format   int       `json:"format"`
	Version  string    `json:"version"` // of lifepod
	Etcd     string    `json:"etcd"`    // version of its storage
	Time     time.Time `json:"time"`
	Revision int64     `json:"revision"` // of etcd
	Files    []File    `json:"files"`    // in the archive's order
}

type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func sum(name, path string) (File, error) {
	opened, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = opened.Close() }() // only read
	hash := sha256.New()
	n, err := io.Copy(hash, opened)
	return File{Name: name, Bytes: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, err
}

// write writes the archive; places are where the manifest's files are.
func write(to io.Writer, m Manifest, places map[string]string) error {
	packed, err := zstd.NewWriter(to)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	err = add(archive, m, File{Name: manifestName, Bytes: int64(len(text))}, strings.NewReader(string(text)))
	for _, f := range m.Files {
		if err != nil {
			break
		}
		err = addFile(archive, m, f, places[f.Name])
	}
	return errors.Join(err, archive.Close(), packed.Close())
}

func addFile(archive *tar.Writer, m Manifest, f File, place string) error {
	opened, err := os.Open(place)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // only read
	return add(archive, m, f, opened)
}

func add(archive *tar.Writer, m Manifest, f File, content io.Reader) error {
	err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: f.Bytes, Mode: 0o600, ModTime: m.Time})
	if err == nil {
		_, err = io.Copy(archive, content)
	}
	return err
}

// maxManifest is the most that a manifest may have, in bytes.
const maxManifest = 1 << 20

// extract reads an archive into a folder and verifies all of it.
func extract(from io.Reader, dir string) (m Manifest, err error) {
	packed, err := zstd.NewReader(from)
	if err != nil {
		return m, err
	}
	defer packed.Close()
	archive := tar.NewReader(packed)
	header, err := archive.Next()
	if err != nil || header.Name != manifestName {
		return m, errors.Join(fmt.Errorf("it is not a backup of lifepod: it does not begin with %s", manifestName), err)
	}
	text, err := io.ReadAll(io.LimitReader(archive, maxManifest))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", manifestName, err)
	}
	if m.Format != format {
		return m, fmt.Errorf("it has format %d, this lifepod reads %d: use the lifepod that wrote it, %s", m.Format, format, m.Version)
	}
	if err := complete(m); err != nil {
		return m, err
	}
	for _, f := range m.Files {
		if err := extractFile(archive, f, dir); err != nil {
			return m, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return m, errors.Join(errors.New("it has more than its manifest says"), err)
	}
	_, err = io.Copy(io.Discard, packed) // to the end, where its checksum is
	return m, err
}

// complete says what a manifest lacks.
func complete(m Manifest) error {
	has := map[string]bool{}
	for _, f := range m.Files {
		name, ok := strings.CutPrefix(f.Name, dataPrefix)
		if f.Name != snapshotName && (!ok || !fs.ValidPath(name) || left(name)) || has[f.Name] {
			return fmt.Errorf("its manifest names the file %q, which does not belong there", f.Name)
		}
		has[f.Name] = true
	}
	for _, name := range []string{snapshotName, dataPrefix + "pki/ca.crt", dataPrefix + "pki/ca.key"} {
		if !has[name] {
			return fmt.Errorf("its manifest lacks %s", name)
		}
	}
	return nil
}

func extractFile(archive *tar.Reader, f File, dir string) error {
	header, err := archive.Next()
	if errors.Is(err, io.EOF) || err == nil && header.Name != f.Name {
		return errors.New("it is not where the manifest says")
	}
	if err != nil {
		return err
	}
	place := filepath.Join(dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(place, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(archive, f.Bytes+1))
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); n != f.Bytes || got != f.SHA256 {
		return fmt.Errorf("it is damaged: %d bytes with SHA-256 %s, want %d with %s", n, got, f.Bytes, f.SHA256)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
