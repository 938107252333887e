package bundle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// writeSynced writes a new file through to the disk.
func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// replaceFile gives the file at path new content in one step: a reader sees
// the old one or the new one. It leaves an equal file alone.
func replaceFile(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	next := fmt.Sprintf("%s.next-%d", path, os.Getpid()) // several processes may be at it
	defer func() { _ = os.Remove(next) }()               // after a failure
	if err := writeSynced(next, content); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
