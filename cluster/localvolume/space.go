package localvolume

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Free says how many bytes may be written yet below dir, which need not exist, and
// how large its file system is.
func Free(dir string) (free, size int64, err error) {
	var stat unix.Statfs_t
	for err = unix.Statfs(dir, &stat); errors.Is(err, unix.ENOENT) && dir != filepath.Dir(dir); err = unix.Statfs(dir, &stat) {
		dir = filepath.Dir(dir)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("free space at %s: %w", dir, err)
	}
	return int64(stat.Bavail) * stat.Bsize, int64(stat.Blocks) * stat.Bsize, nil
}
