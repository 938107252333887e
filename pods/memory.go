package pods

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
)

// MemoryFolder is the folder in which an agent leaves what the next one needs to go on
// with its pods: of each the object as it was accepted, and its checkpoint. Without a
// name nothing is kept.
type MemoryFolder struct{ Dir string }

const (
	podSuffix        = ".pod.json"
	checkpointSuffix = ".checkpoint"
)

func (m MemoryFolder) path(uid types.UID, suffix string) string {
	return filepath.Join(m.Dir, string(uid)+suffix)
}

// Kept is what is kept of one pod. Use it from one goroutine, but for Sync.
type Kept interface {
	// Keep remembers the pod from now on. One that is remembered already stays as it was
	// accepted: its checkpoint builds on that.
	Keep() error
	// Save saves the pod's checkpoint, after the pod itself if that could not be kept before:
	// a checkpoint without it is of no use.
	Save(c lifecycle.Checkpoint) error
	// Sync returns once the last save also survives a power failure.
	Sync() error
}

// pod is what a Folder keeps of one pod.
type pod struct {
	*worker.CheckpointFile
	folder MemoryFolder
	as     roster.Remembered
	kept   bool
}

// Pod returns where a pod is kept; nothing is written yet. nil: it can't be kept.
func (m MemoryFolder) Pod(as roster.Remembered) Kept {
	if m.Dir == "" {
		return nil
	}
	return &pod{CheckpointFile: worker.NewCheckpointFile(m.path(as.Pod.UID, checkpointSuffix)), folder: m, as: as}
}

// Keep remembers the pod from now on.
func (p *pod) Keep() error {
	if p.kept {
		return nil
	}
	if err := p.folder.keep(p.as); err != nil {
		return fmt.Errorf("remember the pod: %w", err)
	}
	p.kept = true
	return nil
}

// Save saves the pod's checkpoint, and before it the pod if that could not be kept yet.
func (p *pod) Save(c lifecycle.Checkpoint) error {
	if err := p.Keep(); err != nil {
		return err
	}
	return p.CheckpointFile.Save(c)
}

func (m MemoryFolder) keep(r roster.Remembered) error {
	path := m.path(r.Pod.UID, podSuffix)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := rootfolder.Ensure(m.Dir, 0o700); err != nil { // pods have secrets in their specs
		return err
	}
	return wholefile.Write(path, data)
}

// Forget removes what is kept of a pod: the checkpoint first, so that there never
// is one without its pod.
func (m MemoryFolder) Forget(uid types.UID) error {
	if m.Dir == "" {
		return nil
	}
	return errors.Join(worker.NewCheckpointFile(m.path(uid, checkpointSuffix)).Remove(), os.RemoveAll(m.path(uid, podSuffix)))
}

// Load reads what is kept of a pod. fs.ErrNotExist holds for a pod that had not begun.
func (m MemoryFolder) Load(uid types.UID) (*roster.Remembered, error) {
	if m.Dir == "" {
		return nil, fs.ErrNotExist
	}
	r, err := m.loadPod(uid)
	if err != nil {
		return nil, err
	}
	if r.Checkpoint, err = worker.LoadCheckpoint(m.path(uid, checkpointSuffix)); err != nil {
		return nil, err
	}
	return r, nil
}

// loadPod is Load without the checkpoint.
func (m MemoryFolder) loadPod(uid types.UID) (*roster.Remembered, error) {
	path := m.path(uid, podSuffix)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &roster.Remembered{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if r.Pod == nil || r.Pod.UID != uid {
		return nil, fmt.Errorf("read %s: it is not of the pod with that UID", path)
	}
	return r, nil
}

// All returns the pods that are kept, and those whose files can't be used. Call it before
// anything is kept: it removes what a previous agent has not finished writing.
func (m MemoryFolder) All() (list []roster.Remembered, useless map[types.UID]error, err error) {
	if m.Dir == "" {
		return nil, nil, nil
	}
	if err := wholefile.RemoveUnfinished(m.Dir); err != nil {
		return nil, nil, fmt.Errorf("look for pods of an agent before: %w", err)
	}
	entries, err := os.ReadDir(m.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("look for pods of an agent before: %w", err)
	}
	useless = map[types.UID]error{}
	for _, entry := range entries {
		text, isPod := strings.CutSuffix(entry.Name(), podSuffix)
		if !isPod {
			continue
		}
		r, err := m.Load(types.UID(text))
		if err != nil {
			useless[types.UID(text)] = err
			continue
		}
		list = append(list, *r)
	}
	return list, useless, nil
}

// Pods are all that are kept, also those whose checkpoint can't be read.
func (m MemoryFolder) Pods() []roster.Remembered {
	kept, useless, err := m.All()
	if err != nil {
		return nil // then nothing can be said of them
	}
	for uid := range useless {
		if r, err := m.loadPod(uid); err == nil {
			kept = append(kept, *r)
		}
	}
	return kept
}
