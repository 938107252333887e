package localdriver

import (
	"fmt"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// available is how many bytes may be promised: what is free, without what volumes were
// promised and have not written yet.
func (d *Driver) available() (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(d.volumes.dir, &stat); err != nil {
		return 0, fmt.Errorf("free space in %s: %w", d.volumes.dir, err)
	}
	free := int64(stat.Bavail) * stat.Bsize
	for _, v := range d.volumes.list() {
		free -= v.Bytes - d.written(v)
	}
	return max(0, free), nil
}

// written is how much of its image takes up room that is its own.
func (d *Driver) written(v record) int64 {
	if v.Shared {
		return 0
	}
	return min(v.Bytes, allocated(d.volumes.image(v.ID)))
}

// allocated is how much room a file takes up, shared or not; 0 if there is no such file.
func allocated(path string) int64 {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return 0
	}
	return stat.Blocks * 512
}

// reserve promises bytes to what is being made, until release is called. By then it is on
// its store, or has failed.
func (d *Driver) reserve(bytes int64) (release func(), err error) {
	free, err := d.available()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if free -= d.pending; bytes > free {
		return nil, status.Errorf(codes.ResourceExhausted, "%d bytes are wanted, but the file system of %s has only %d that are neither used nor promised to other volumes", bytes, d.config.Dir, max(0, free))
	}
	d.pending += bytes
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pending -= bytes
	}, nil
}
