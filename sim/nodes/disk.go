package nodes

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// disk keeps what lifepod agent keeps in a memory.Folder, in memory: it outlives the reboots of the
// machine that is simulated, not this process. The zero value has nothing.
type disk struct {
	mu     sync.Mutex
	pods   map[types.UID]*kept
	booted bool // RecordBoot was called since the last Reboot
}

type kept struct {
	in         *disk
	as         roster.Remembered
	checkpoint []byte // nil: there is none
}

// Reboot takes that the machine is started anew.
func (v *disk) Reboot() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.booted = false
}

// Rebooted says whether the machine was started anew since the last RecordBoot.
func (v *disk) Rebooted() (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.booted, nil
}

// RecordBoot records that every remembered pod is one of this boot of the machine (B-RST-21).
func (v *disk) RecordBoot() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.booted = true
	return nil
}

// Pod returns where a pod is kept; nothing is there yet.
func (v *disk) Pod(as roster.Remembered) pods.Kept { return &kept{in: v, as: as} }

// Keep remembers the pod from now on.
func (p *kept) Keep() error {
	v, uid := p.in, p.as.Pod.UID
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pods == nil {
		v.pods = map[types.UID]*kept{}
	}
	if before := v.pods[uid]; before != nil && before != p {
		p.as, p.checkpoint = before.as, before.checkpoint
	}
	v.pods[uid] = p
	return nil
}

// Save saves the pod's checkpoint. It is kept in its written form: what the machine has goes on to change.
func (p *kept) Save(c lifecycle.Checkpoint) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	p.checkpoint = data
	return nil
}

// Sync does nothing: what is saved survives the simulated machine's power.
func (*kept) Sync() error { return nil }

// All are the pods that are kept, and those of which what is kept is of no use.
func (v *disk) All() (list []roster.Remembered, useless map[types.UID]error, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	useless = map[types.UID]error{}
	for uid, p := range v.pods {
		r, err := p.load()
		if err != nil {
			useless[uid] = err
			continue
		}
		list = append(list, *r)
	}
	return list, useless, nil
}

// Load reads what is kept of a pod.
func (v *disk) Load(uid types.UID) (*roster.Remembered, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p := v.pods[uid]; p != nil {
		return p.load()
	}
	return nil, fs.ErrNotExist
}

// load is called with mu held.
func (p *kept) load() (*roster.Remembered, error) {
	if p.checkpoint == nil {
		return nil, fs.ErrNotExist
	}
	r := p.as
	if err := json.Unmarshal(p.checkpoint, &r.Checkpoint); err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return &r, nil
}

// Forget removes what is kept of a pod.
func (v *disk) Forget(uid types.UID) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.pods, uid)
	return nil
}
