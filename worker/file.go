package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle"
)

// CheckpointFile is where one pod's checkpoint is kept. Save belongs to one goroutine;
// Sync may run beside it. The file is open while it is written only: a node has
// many pods, and a process may have few files open.
type CheckpointFile struct {
	path string

	mu       sync.Mutex
	sequence uint64 // of what was saved last
	saved    []byte // the same; nil if the file is not there

	slots [2]sync.Mutex // held while a slot is written or synced
}

var checkpoints = wholefile.Slots{Slot: 4 << 20, Header: 64}

// NewCheckpointFile is the file at path, which is not touched yet. What is saved supersedes
// what is there.
func NewCheckpointFile(path string) *CheckpointFile {
	f := &CheckpointFile{path: path}
	if newest, err := checkpoints.Read(path); err == nil {
		f.sequence = newest.Sequence
	}
	return f
}

// Save puts the checkpoint into the file, if it differs from the one before; on a
// full disk in place of the one before. When that fails no file is left: an
// old checkpoint would be a lie.
func (f *CheckpointFile) Save(c lifecycle.Checkpoint) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.saved != nil && bytes.Equal(data, f.saved) {
		return nil
	}
	next := wholefile.Entry{Sequence: f.sequence + 1, Content: data}
	if f.write(next) != nil { // there may be no room but that of the one before
		err = errors.Join(f.discard(), f.write(next))
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", errors.Join(err, f.discard()))
	}
	f.sequence, f.saved = f.sequence+1, data
	return nil
}

func (f *CheckpointFile) write(e wholefile.Entry) error {
	slot := &f.slots[e.Slot()]
	slot.Lock()
	defer slot.Unlock()
	return checkpoints.Write(f.path, e)
}

// Sync returns when what was saved last, or something newer, survives a power
// failure. It fails if the last Save did.
func (f *CheckpointFile) Sync() error {
	f.mu.Lock()
	if f.saved == nil {
		f.mu.Unlock()
		return errors.New("sync checkpoint: it could not be saved")
	}
	slot := &f.slots[wholefile.Entry{Sequence: f.sequence}.Slot()]
	slot.Lock()
	defer slot.Unlock()
	f.mu.Unlock()
	if err := syncFile(f.path); err != nil {
		return fmt.Errorf("sync checkpoint: %w", err)
	}
	if err := wholefile.SyncFolder(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("sync checkpoint: %w", err)
	}
	return nil
}

// syncFile has the kernel write what it has of a file, whoever wrote it. An error of before that
// nobody was told is told to who opens the file next.
func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Remove deletes the file: nothing of the pod is left. Nothing may be saved then.
func (f *CheckpointFile) Remove() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.discard()
}

func (f *CheckpointFile) discard() error {
	f.saved = nil
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// LoadCheckpoint reads the newest checkpoint at path. The error satisfies errors.Is with
// fs.ErrNotExist if there is no file.
func LoadCheckpoint(path string) (lifecycle.Checkpoint, error) {
	var c lifecycle.Checkpoint
	newest, err := checkpoints.Read(path)
	if err == nil {
		err = json.Unmarshal(newest.Content, &c)
	}
	if err != nil {
		return lifecycle.Checkpoint{}, fmt.Errorf("read checkpoint: %w", err)
	}
	return c, nil
}
