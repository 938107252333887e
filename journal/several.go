//go:build linux

package journal

import (
	"errors"
	"fmt"
	"io/fs"
)

// Several are journals that are read as one.
type Several []Source

// Pods lists the pods of all of them. With an error, which names what can't be read, it lists the others.
func (s Several) Pods() (all []Pod, err error) {
	for _, one := range s {
		pods, damaged := one.Pods()
		all, err = append(all, pods...), errors.Join(err, damaged)
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
