package space

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// imageDisk measures the file system that the runtime has its images on. The runtime is
// asked once where that is; from then on a look costs one system call.
type imageDisk struct {
	images runtimeapi.ImageServiceClient
	statfs func(path string) (Disk, error)
	path   string
}

// measure is the file system's state now.
func (d *imageDisk) measure(ctx context.Context) (Disk, error) {
	if d.path == "" {
		answer, err := d.images.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{})
		if err != nil {
			return Disk{}, fmt.Errorf("ask the runtime where images are: %s", cri.Text(err))
		}
		if len(answer.GetImageFilesystems()) == 0 {
			return Disk{}, errors.New("ask the runtime where images are: it names no file system")
		}
		d.path = answer.ImageFilesystems[0].GetFsId().GetMountpoint()
	}
	disk, err := d.statfs(d.path)
	if err != nil {
		at := d.path
		d.path = "" // a runtime that was started anew may have another
		return Disk{}, fmt.Errorf("measure the images' file system at %s: %w", at, err)
	}
	disk.Available = min(disk.Available, disk.Capacity)
	return disk, nil
}

// statfs is what processes without privileges may use.
func statfs(path string) (Disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Disk{}, err
	}
	return Disk{Capacity: int64(s.Blocks) * s.Bsize, Available: int64(s.Bavail) * s.Bsize}, nil
}
