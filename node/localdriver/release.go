package localdriver

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/loopdevice"
)

// Release unmounts all volumes in a folder, which need not exist, and takes their block
// devices away, whoever has left them. Pods have ended, and no driver uses the folder
// meanwhile; the next one has the volumes again.
func Release(dir string) error {
	images, err := filepath.Glob(filepath.Join(dir, "volumes", "*", imageFile))
	for _, image := range images {
		if failed := release(image); failed != nil {
			err = errors.Join(err, fmt.Errorf("release local volume %q: %w", filepath.Base(filepath.Dir(image)), failed))
		}
	}
	return err
}

func release(image string) error {
	files, err := mountsOf(image)
	if err != nil {
		return err
	}
	if len(files) > 0 { // one that stays frozen can't be detached
		err = thaw(files[0].Mountpoint)
	}
	devices, failed := devicesOf(image)
	err = errors.Join(err, failed, releaseKept(image))
	for _, m := range slices.Backward(slices.Concat(files, devices)) {
		err = errors.Join(err, unmount(m.Mountpoint))
	}
	return errors.Join(err, detachLoop(image))
}

// releaseKept takes away the loop devices that keep the one of an image open (A-CSI-8).
func releaseKept(image string) error {
	device, err := findLoop(image)
	if device == "" || err != nil {
		return err
	}
	var kept unix.Stat_t
	if err := unix.Stat(device, &kept); err != nil {
		return err
	}
	loops, err := loopdevice.Find(func(info *unix.LoopInfo64) bool { return info.Rdevice == kept.Rdev })
	for _, loop := range loops {
		err = errors.Join(err, loopdevice.Detach(loop))
	}
	return err
}
