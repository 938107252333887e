package groups

import (
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// Kept is what outlives the process of all groups that have members on a node (B-GRP-29).
type Kept struct {
	path string // empty: it is in memory alone

	mu  sync.Mutex
	all map[string]group.Follower // by namespace and name of the group
}

// NewKept reads what is kept in a file. One that can't be read has nothing.
func NewKept(path string) *Kept {
	k := &Kept{path: path}
	if wholefile.ReadJSON(path, &k.all) != nil || k.all == nil {
		k.all = map[string]group.Follower{}
	}
	return k
}

func (k *Kept) of(name types.NamespacedName) (group.Follower, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, has := k.all[name.String()]
	return f, has
}

// keep returns when f outlives the process.
func (k *Kept) keep(name types.NamespacedName, f group.Follower) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, had := k.all[name.String()]
	if had && before.Version == f.Version && maps.Equal(before.Modes, f.Modes) {
		return nil
	}
	k.all[name.String()] = f
	err := k.write()
	if err != nil { // it is tried again
		if k.all[name.String()] = before; !had {
			delete(k.all, name.String())
		}
		return fmt.Errorf("keep what group %s goes on from: %w", name, err)
	}
	return nil
}

// forget: the group has no member here any more.
func (k *Kept) forget(name types.NamespacedName) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, had := k.all[name.String()]; !had {
		return nil
	}
	delete(k.all, name.String())
	return k.write()
}

func (k *Kept) write() error {
	if k.path == "" {
		return nil
	}
	return wholefile.WriteJSON(k.path, k.all)
}
