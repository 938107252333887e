package down

import (
	"errors"
	"fmt"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/node"
)

// Exclude keeps lifepods from a root until release is called. It fails with
// [bundle.ErrInUse] while one uses it, also one whose pods are on another runtime.
func Exclude(paths bundle.Paths) (release func() error, err error) {
	release, err = paths.Exclude()
	if err != nil {
		return nil, err
	}
	used, err := leftovers.InUse(host.LeftoverPlace(paths))
	if err == nil && (used || node.Running(paths.Root)) {
		err = fmt.Errorf("%s: %w", paths.Root, bundle.ErrInUse)
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}
