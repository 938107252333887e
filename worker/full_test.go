package worker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestFullDisk: on a disk that others have filled, a checkpoint takes the place
// of the one before it, and the pod stays one that can be gone on with.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	assert.Must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"))
	defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
	path := filepath.Join(disk, "uid.checkpoint")
	file := NewCheckpointFile(path)
	save(t, file, newCheckpoint(1))
	if err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for id := range lifecycle.EffectID(5) {
		save(t, file, newCheckpoint(id+2))
		assert.Equal(t, id+2, loaded(t, path), "loaded")
	}
}
