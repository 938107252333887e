package memory

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// Volatile keeps what a Folder keeps in memory, for a machine that is simulated: it outlives
// that machine's reboots, not this process. The zero value has nothing.
type Volatile struct {
	mu     sync.Mutex
	pods   map[types.UID]*volatile
	booted bool // RecordBoot was called since the last Reboot
}

// volatile is what is kept of one pod.
type volatile struct {
	in         *Volatile
	as         roster.Remembered
	checkpoint []byte // nil: there is none
}

// Reboot takes that the machine is started anew.
func (v *Volatile) Reboot() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.booted = false
}

// Rebooted says whether the machine was started anew since the last RecordBoot.
func (v *Volatile) Rebooted() (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !v.booted, nil
}

// RecordBoot records that every remembered pod is one of this boot of the machine (B-RST-21).
func (v *Volatile) RecordBoot() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.booted = true
	return nil
}

// Pod returns where a pod is kept; nothing is there yet.
func (v *Volatile) Pod(as roster.Remembered) Kept { return &volatile{in: v, as: as} }

// Keep remembers the pod from now on.
func (p *volatile) Keep() error {
	v, uid := p.in, p.as.Pod.UID
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pods == nil {
		v.pods = map[types.UID]*volatile{}
	}
	if before := v.pods[uid]; before != nil && before != p {
		p.as, p.checkpoint = before.as, before.checkpoint
	}
	v.pods[uid] = p
	return nil
}

// Save saves the pod's checkpoint. It is kept in its written form: what the machine has goes on to change.
func (p *volatile) Save(c lifecycle.Checkpoint) error {
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
func (*volatile) Sync() error { return nil }

// Close does nothing.
func (*volatile) Close() error { return nil }

// All are the pods that are kept, and those of which what is kept is of no use.
func (v *Volatile) All() (list []roster.Remembered, useless map[types.UID]error, err error) {
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
func (v *Volatile) Load(uid types.UID) (*roster.Remembered, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p := v.pods[uid]; p != nil {
		return p.load()
	}
	return nil, fs.ErrNotExist
}

// load is called with mu held.
func (p *volatile) load() (*roster.Remembered, error) {
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
func (v *Volatile) Forget(uid types.UID) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.pods, uid)
	return nil
}
