package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
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

// NewCheckpointFile is the file at path, which is not touched yet. What is saved supersedes
// what is there.
func NewCheckpointFile(path string) *CheckpointFile {
	f := &CheckpointFile{path: path}
	if newest, err := read(path); err == nil {
		f.sequence = newest.sequence
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
	next := entry{sequence: f.sequence + 1, data: data}
	if f.write(next) != nil { // there may be no room but that of the one before
		err = errors.Join(f.discard(), f.write(next))
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", errors.Join(err, f.discard()))
	}
	f.sequence, f.saved = f.sequence+1, data
	return nil
}

func (f *CheckpointFile) write(e entry) error {
	if len(e.data) > maxData {
		return fmt.Errorf("%d bytes are more than %d", len(e.data), maxData)
	}
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	slot := e.slot()
	f.slots[slot].Lock()
	defer f.slots[slot].Unlock()
	_, err = file.WriteAt(e.encode(), int64(slot)*slotSize)
	return errors.Join(err, file.Close())
}

// Sync returns when what was saved last, or something newer, survives a power
// failure. It fails if the last Save did.
func (f *CheckpointFile) Sync() error {
	f.mu.Lock()
	if f.saved == nil {
		f.mu.Unlock()
		return errors.New("sync checkpoint: it could not be saved")
	}
	slot := &f.slots[entry{sequence: f.sequence}.slot()]
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
	newest, err := read(path)
	if err == nil {
		err = json.Unmarshal(newest.data, &c)
	}
	if err != nil {
		return lifecycle.Checkpoint{}, fmt.Errorf("read checkpoint: %w", err)
	}
	return c, nil
}

const (
	slotSize   = 4 << 20 // the file is sparse: only what is written takes space
	headerSize = 64
	maxData    = slotSize - headerSize
)

// entry is what a slot holds. Its header is text, filled up with blanks:
// sequence number, length and checksum of the data that follow.
type entry struct {
	sequence uint64
	data     []byte
}

// slot is the one that the entry belongs into: not that of the entry before.
func (e entry) slot() int { return int(e.sequence % 2) }

func (e entry) encode() []byte {
	header := fmt.Sprintf("%d %d %08x", e.sequence, len(e.data), crc32.ChecksumIEEE(e.data))
	return append(fmt.Appendf(make([]byte, 0, headerSize+len(e.data)), "%-*s\n", headerSize-1, header), e.data...)
}

// read finds the newest complete entry of a file.
func read(path string) (entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return entry{}, err
	}
	defer func() { _ = file.Close() }() // only read
	var newest entry
	for slot := range int64(2) {
		if e, err := decode(io.NewSectionReader(file, slot*slotSize, slotSize)); err == nil && e.sequence > newest.sequence {
			newest = e
		}
	}
	if newest.sequence == 0 {
		return entry{}, errors.New("the file is damaged")
	}
	return newest, nil
}

func decode(r io.Reader) (entry, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return entry{}, err
	}
	var e entry
	var length int
	var sum uint32
	if _, err := fmt.Sscanf(string(header), "%d %d %x", &e.sequence, &length, &sum); err != nil {
		return entry{}, err
	}
	if length < 0 || length > maxData {
		return entry{}, errors.New("impossible length")
	}
	e.data = make([]byte, length)
	if _, err := io.ReadFull(r, e.data); err != nil {
		return entry{}, err
	}
	if crc32.ChecksumIEEE(e.data) != sum {
		return entry{}, errors.New("wrong checksum")
	}
	return e, nil
}
