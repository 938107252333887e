package worker

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// FuzzDamagedFile writes any bytes anywhere over a file with two checkpoints, or
// cuts it off, as a full disk or a power failure may. What is loaded then is one
// of the two, complete, or an error that says so; and the next lifepod saves as
// ever (B-RST-9).
func FuzzDamagedFile(f *testing.F) {
	slotSize, headerSize := uint32(checkpoints.Slot), uint32(checkpoints.Header)
	f.Add(uint32(0), []byte("9 1 0"), 2*slotSize)
	f.Add(slotSize, []byte("99999999999999999999 -1 0"), 2*slotSize)
	f.Add(slotSize-3, []byte("abcdef"), slotSize+1)
	f.Add(headerSize, []byte("{}"), headerSize)
	f.Add(uint32(0), []byte("18446744073709551615 2 99914b93"+strings.Repeat(" ", 33)+"{}"), uint32(100))
	f.Fuzz(func(t *testing.T, at uint32, bytes []byte, length uint32) {
		path := filepath.Join(t.TempDir(), "uid.checkpoint")
		before := NewCheckpointFile(path)
		save(t, before, newCheckpoint(1))
		save(t, before, newCheckpoint(2))
		overwrite(t, path, int64(at%(2*slotSize)), bytes, int64(length%(3*slotSize)))
		c, err := LoadCheckpoint(path)
		assert.Require(t, err != nil || c.LastID == 1 || c.LastID == 2 || forged(t, bytes), "loaded %+v, which nobody saved", c)
		assert.Require(t, err == nil || !errors.Is(err, fs.ErrNotExist) && c.UID == "", "with %+v came %v", c, err)
		next := NewCheckpointFile(path)
		save(t, next, newCheckpoint(3))
		got := loaded(t, path)
		assert.Require(t, got == 3, "saved 3, loaded %d", got)
	})
}

// forged says that the damage is a complete entry itself, which no chance makes.
func forged(t *testing.T, bytes []byte) bool {
	path := filepath.Join(t.TempDir(), "forged")
	for at := range bytes {
		assert.Must(t, os.WriteFile(path, bytes[at:], 0o600))
		if _, err := checkpoints.Read(path); err == nil {
			return true
		}
	}
	return false
}

func overwrite(t *testing.T, path string, at int64, bytes []byte, length int64) {
	t.Helper()
	file := assert.Get(os.OpenFile(path, os.O_RDWR, 0)).Must(t)
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.WriteAt(bytes, min(at, size))
	}
	if err == nil && length < size {
		err = file.Truncate(length)
	}
	assert.Must(t, errors.Join(err, file.Close()))
}
