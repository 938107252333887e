// Package wholefile writes files that are complete whenever they are read.
package wholefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces a file, or makes it, with mode 0600. A reader sees the old content
// or the new one, also after a power cut; after an error it is the old one.
func Write(path string, content []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), ".new-") // mode 0600
	if err != nil {
		return err
	}
	_, err = next.Write(content)
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		_ = os.Remove(next.Name())
	}
	return err
}
