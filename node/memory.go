package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker/checkpoint"
)

// Memory is the folder in which an agent leaves what the next one needs to go on
// with its pods: of each the object as it was accepted, and its checkpoint.
type Memory struct{ Dir string }

// saved is a pod of an agent before this one.
type saved struct {
	Origin     roster.Source        `json:"origin"`
	Pod        *v1.Pod              `json:"pod"` // as it was accepted
	Checkpoint lifecycle.Checkpoint `json:"-"`
}

const (
	podSuffix        = ".pod.json"
	checkpointSuffix = ".checkpoint"
)

func (m Memory) path(uid types.UID, suffix string) string {
	return filepath.Join(m.Dir, string(uid)+suffix)
}

// keep remembers a pod from now on. A pod that is remembered already stays as it
// was accepted: its checkpoint builds on that.
func (m Memory) keep(s saved) (*checkpoint.File, error) {
	path, to := m.path(s.Pod.UID, podSuffix), checkpoint.New(m.path(s.Pod.UID, checkpointSuffix))
	if _, err := os.Stat(path); err == nil {
		return to, nil
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = os.MkdirAll(m.Dir, 0o700) // pods have secrets in their specs
	}
	if err == nil {
		err = wholefile.Write(path, data)
	}
	if err != nil {
		return nil, fmt.Errorf("remember the pod: %w", err)
	}
	return to, nil
}

// forget removes what is kept of a pod: the checkpoint first, so that there never
// is one without its pod.
func (m Memory) forget(uid types.UID) {
	_ = checkpoint.New(m.path(uid, checkpointSuffix)).Remove() // a pod that is gone is gone again if it is found
	_ = os.Remove(m.path(uid, podSuffix))
}

// load reads what is kept of a pod. fs.ErrNotExist holds for a pod that had not begun.
func (m Memory) load(uid types.UID) (*saved, error) {
	data, err := os.ReadFile(m.path(uid, podSuffix))
	if err != nil {
		return nil, err
	}
	s := &saved{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", m.path(uid, podSuffix), err)
	}
	if s.Pod == nil || s.Pod.UID != uid {
		return nil, fmt.Errorf("read %s: it is not of the pod with that UID", m.path(uid, podSuffix))
	}
	if s.Checkpoint, err = checkpoint.Load(m.path(uid, checkpointSuffix)); err != nil {
		return nil, err
	}
	return s, nil
}

// recall reads what is kept of a pod whose worker has panicked; nil if it is of no use.
func (m Memory) recall(uid types.UID) *roster.Remembered {
	s, err := m.load(uid)
	if err != nil {
		return nil
	}
	return &roster.Remembered{Source: s.Origin, Pod: s.Pod, Checkpoint: s.Checkpoint}
}

// all are the pods that are kept, and those of which what is kept is of no use. Call
// it before anything is kept: what an agent before has not finished is removed.
func (m Memory) all() (list []*saved, useless map[types.UID]error, err error) {
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
		s, err := m.load(types.UID(text))
		if err != nil {
			useless[types.UID(text)] = err
			continue
		}
		list = append(list, s)
	}
	return list, useless, nil
}
