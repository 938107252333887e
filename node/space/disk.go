package space

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/roster/pressure"
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

// rest is the longest pause between two looks, the kubelet's.
const rest = 10 * time.Second

// pace says how fast something may be used up, in bytes or pieces a second, and the
// shortest pause between two looks at it.
type pace struct {
	perSecond int64
	shortest  time.Duration
}

func paceOf(signal pressure.Signal) pace {
	switch signal {
	case pressure.Memory, pressure.AllocatableMemory: // as fast as one process touches new pages
		return pace{2 << 30, 100 * time.Millisecond}
	case pressure.PIDs:
		return pace{10_000, 250 * time.Millisecond}
	case pressure.NodeFsInodes, pressure.ImageFsInodes, pressure.ContainerFsInodes:
		return pace{50_000, time.Second}
	default:
		return pace{512 << 20, time.Second}
	}
}

// metPause is the pause while a threshold is met: what is being reclaimed needs its time,
// and whoever does it asks for a look when that is over.
const metPause = time.Second

// pause is how long nothing needs to be measured: until the nearest threshold may be
// reached.
func pause(thresholds []pressure.Threshold, seen pressure.Observations) time.Duration {
	next := rest
	for i := range thresholds {
		t := &thresholds[i]
		observed, known := seen[t.Signal]
		if !known {
			continue
		}
		left, pace := t.Left(observed), paceOf(t.Signal)
		if left <= 0 {
			next = min(next, metPause)
			continue
		}
		seconds := float64(left) / float64(pace.perSecond)
		next = min(next, max(pace.shortest, time.Duration(min(seconds, rest.Seconds())*float64(time.Second))))
	}
	return next
}
