package localdriver

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
	err = errors.Join(err, failed)
	for _, m := range slices.Backward(slices.Concat(files, devices)) {
		err = errors.Join(err, unmount(m.Mountpoint))
	}
	return errors.Join(err, detachLoop(image))
}
