package host

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// On a disk with less room than that, numbers don't say whether a pod's state can be saved:
// some of it may be root's alone, and some a file system's own.
const (
	littleRoom  = 16 << 20 // bytes
	littleFiles = 100
	// stateSize is about what the state of a large pod takes.
	stateSize = 64 << 10
)

// Writable says why nothing can be written into a folder. It only writes if there is
// little room, so that no sleeping disk is woken.
func Writable(dir string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	switch {
	case disk.Flags&unix.ST_RDONLY != 0:
		return fmt.Errorf("%s: %w", dir, unix.EROFS)
	case disk.Blocks > 0 && disk.Bavail*uint64(disk.Bsize) < littleRoom, disk.Files > 0 && disk.Ffree < littleFiles:
		if err := wholefile.Try(dir, stateSize); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}
