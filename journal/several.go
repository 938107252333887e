//go:build linux

package journal

import (
	"errors"
	"fmt"
	"io/fs"
)

// Several are journals that are read as one.
type Several []Source

// Together are several folders.
func Together(folders []Folder) (all Several) {
	for _, one := range folders {
		all = append(all, one)
	}
	return all
}

// Pods lists the pods of all of them, each once. With an error, which names what can't be read, it lists the others.
func (s Several) Pods() (all []Pod, err error) {
	known := map[string]bool{}
	for _, one := range s {
		pods, damaged := one.Pods()
		err = errors.Join(err, damaged)
		for _, p := range pods {
			if !known[p.UID] {
				known[p.UID], all = true, append(all, p)
			}
		}
	}
	return all, err
}

// Read returns what the first that has a pod has of it.
func (s Several) Read(uid string) (*Record, error) {
	for _, one := range s {
		r, err := one.Read(uid)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return nil, fmt.Errorf("journal of pod %s: %w", uid, fs.ErrNotExist)
}
