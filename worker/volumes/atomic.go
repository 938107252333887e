package volumes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	dataLink     = "..data"
	nextDataLink = "..data_tmp"
)

// writeAtomically gives the volume the files of the payload in one step, seen by
// running containers (A-VOL-5): the files are in a folder named by the time,
// ..data is a link to it that is swapped by rename, and each file is seen
// through a link to ..data. Nothing is written if nothing changed. Versions that are bound stay.
func writeAtomically(dir string, files payload, group *int64, bound binds) error {
	if err := checkPaths(files); err != nil {
		return err
	}
	current, err := os.Readlink(filepath.Join(dir, dataLink))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if current == "" || !sameFiles(filepath.Join(dir, current), files) {
		if current, err = nextVersion(dir, files, group); err != nil {
			return err
		}
	}
	if err := linkVisible(dir, files); err != nil {
		return err
	}
	return prune(dir, current, files, bound)
}

// nextVersion writes the files, gives them to the group and makes them the
// volume's. A failure leaves nothing of them: on a full disk, another attempt
// must not make it worse.
func nextVersion(dir string, files payload, group *int64) (string, error) {
	version, err := writeVersion(dir, files)
	if err == nil {
		err = own(dir, group, true)
	}
	if err == nil {
		err = swap(dir, version)
	}
	if err != nil && version != "" {
		return "", errors.Join(err, os.RemoveAll(filepath.Join(dir, version)))
	}
	return version, err
}

// checkPaths guards the host against paths that validation should have refused.
func checkPaths(files payload) error {
	for path := range files {
		if !filepath.IsLocal(path) || strings.HasPrefix(path, "..") {
			return fmt.Errorf("invalid path: must be relative, inside the volume and not start with '..': %s", path)
		}
	}
	return nil
}

// sameFiles says whether the current version has exactly these files.
func sameFiles(version string, files payload) bool {
	count := 0
	err := filepath.WalkDir(version, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		name, err := filepath.Rel(version, path)
		if err != nil {
			return err
		}
		want, found := files[name]
		content, err := os.ReadFile(path)
		if err != nil || !found || !bytes.Equal(content, want.data) {
			return fs.ErrInvalid
		}
		return nil
	})
	return err == nil && count == len(files)
}

// writeVersion writes the files into a new folder and returns its name, also of
// one that it could not finish.
func writeVersion(dir string, files payload) (string, error) {
	version, err := os.MkdirTemp(dir, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return "", err
	}
	name := filepath.Base(version)
	if err := os.Chmod(version, 0o755); err != nil {
		return name, err
	}
	for path, f := range files {
		if err := writeFile(filepath.Join(version, path), f); err != nil {
			return name, err
		}
	}
	return name, nil
}

func writeFile(path string, f file) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.data, f.mode); err != nil {
		return err
	}
	if f.owner != nil {
		if err := os.Chown(path, int(*f.owner), -1); err != nil {
			return err
		}
	}
	// The umask does not apply to volumes.
	return os.Chmod(path, f.mode)
}

func swap(dir, version string) error {
	next := filepath.Join(dir, nextDataLink)
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(version, next); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(dir, dataLink))
}

// linkVisible makes the links through which containers see the files, one for
// each first element of a path.
func linkVisible(dir string, files payload) error {
	for path := range files {
		name, _, _ := strings.Cut(path, "/")
		err := os.Symlink(filepath.Join(dataLink, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// prune removes the links of files that are gone, older versions, and what an
// interrupted write has left. Folders that are mount points stay, and versions that are bound.
func prune(dir, version string, files payload, bound binds) error {
	keep := map[string]bool{dataLink: true, version: true}
	for path := range files {
		name, _, _ := strings.Cut(path, "/")
		keep[name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		ours := entry.Type() == fs.ModeSymlink || strings.HasPrefix(entry.Name(), "..")
		if keep[entry.Name()] || !ours || bound.any(filepath.Join(dir, entry.Name())) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
