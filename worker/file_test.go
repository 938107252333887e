package worker

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle"
)

func newCheckpoint(id lifecycle.EffectID) lifecycle.Checkpoint {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
	pod.UID = "uid"
	c := lifecycle.New(pod, lifecycle.DefaultOptions()).Checkpoint()
	c.LastID = id
	return c
}

func textOf(t testing.TB, c lifecycle.Checkpoint) string {
	return string(assert.Get(json.Marshal(c)).Must(t))
}

func save(t testing.TB, f *CheckpointFile, c lifecycle.Checkpoint) {
	t.Helper()
	assert.Must(t, f.Save(c))
}

// loaded is the LastID of what Load finds.
func loaded(t *testing.T, path string) lifecycle.EffectID {
	t.Helper()
	c := assert.Get(LoadCheckpoint(path)).Must(t)
	return c.LastID
}

// What was saved last is what is loaded, also by the lifepod after the next, and
// nobody else may read it.
func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.checkpoint")
	var file *CheckpointFile
	for id := range lifecycle.EffectID(7) {
		if id%3 == 0 {
			file = NewCheckpointFile(path)
		}
		save(t, file, newCheckpoint(id))
		assert.Must(t, file.Sync())
		got := assert.Get(LoadCheckpoint(path)).Must(t)
		diff := cmp.Diff(textOf(t, newCheckpoint(id)), textOf(t, got))
		assert.Require(t, diff == "", "%d (-want +got):\n%s", id, diff)
	}
	info, err := os.Stat(path)
	assert.True(t, err == nil && info.Mode().Perm() == 0o600, "mode %v, %v", info.Mode(), err)
	assert.Must(t, file.Remove())
	left, _ := os.ReadDir(filepath.Dir(path))
	assert.True(t, len(left) == 0, "left behind: %v", left)
}

// A longer checkpoint before leaves nothing in a shorter one after it.
func TestSaveShorter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.checkpoint")
	file, long := NewCheckpointFile(path), newCheckpoint(1)
	long.Stop.Message = strings.Repeat("x", 10_000)
	save(t, file, long)
	save(t, file, newCheckpoint(2))
	save(t, file, newCheckpoint(3))
	assert.Equal(t, 3, loaded(t, path), "loaded")
}

// An unchanged checkpoint is not written again.
func TestSaveUnchanged(t *testing.T) {
	file := NewCheckpointFile(filepath.Join(t.TempDir(), "uid.checkpoint"))
	save(t, file, newCheckpoint(1))
	save(t, file, newCheckpoint(1))
	assert.True(t, file.sequence == 1, "written %d times", file.sequence)
}

// A write that a kill -9 has cut short leaves the checkpoint before it.
func TestTornWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.checkpoint")
	file := NewCheckpointFile(path)
	save(t, file, newCheckpoint(1))
	save(t, file, newCheckpoint(2))
	assert.Must(t, checkpoints.Write(path, wholefile.Entry{Sequence: 3, Content: []byte(`{"version":1}`)}))
	assert.Must(t, os.Truncate(path, int64(checkpoints.Slot+checkpoints.Header+5)))
	assert.Equal(t, 2, loaded(t, path), "loaded")
	next := NewCheckpointFile(path)
	assert.True(t, next.sequence == 2, "goes on after %d, want 2", next.sequence)
}

// When a write fails, the checkpoint of before is not left to be believed, and
// nothing is called safe; the next write that works makes it good.
func TestSaveFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.checkpoint")
	file, large := NewCheckpointFile(path), newCheckpoint(2)
	save(t, file, newCheckpoint(1))
	large.Stop.Message = strings.Repeat("x", checkpoints.Slot)
	err := file.Save(large)
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "save checkpoint: "), "Save: %v", err)
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(LoadCheckpoint(path)), "Load")
	assert.Fails(t, file.Sync(), "Sync of nothing works")
	save(t, file, newCheckpoint(1))
	assert.NoError(t, file.Sync())
}

// A file without a complete slot is an error, whatever it holds.
func TestLoadDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uid.checkpoint")
	assert.Must(t, checkpoints.Write(path, wholefile.Entry{Sequence: 2, Content: []byte("{}")}))
	wrong := assert.Get(os.ReadFile(path)).Must(t)
	wrong[len(wrong)-1]++
	for name, content := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "long header": []byte(strings.Repeat("9", 100)),
		"length": []byte("1 99999999999 0" + strings.Repeat(" ", 100)), "checksum": wrong,
	} {
		assert.Must(t, os.WriteFile(path, content, 0o600))
		assert.Error(t, "read checkpoint: the file is damaged", assert.ErrorOf(LoadCheckpoint(path)), name)
	}
}

// TestFullDisk: on a disk that others have filled, a checkpoint takes the place
// of the one before it, and the pod stays one that can be gone on with.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	assert.Must(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"))
	defer func() { _ = unix.Unmount(disk, unix.MNT_DETACH) }()
	path := filepath.Join(disk, "uid.checkpoint")
	file := NewCheckpointFile(path)
	save(t, file, newCheckpoint(1))
	err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 1<<20), 0o600)
	assert.Require(t, errors.Is(err, unix.ENOSPC), "the disk is not full: %v", err)
	for id := range lifecycle.EffectID(5) {
		save(t, file, newCheckpoint(id+2))
		assert.Equal(t, id+2, loaded(t, path), "loaded")
	}
}
