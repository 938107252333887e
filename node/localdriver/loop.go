package localdriver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/internal/loopdevice"
)

// findLoop is the loop device of an image, "" if there is none. An image never gets a
// second one: two file systems on one file destroy it. The kernel is asked which file a device
// has: a name is not enough.
func findLoop(image string) (device string, err error) {
	var want unix.Stat_t
	if err := unix.Stat(image, &want); err != nil {
		return "", fmt.Errorf("image %s: %w", image, err)
	}
	devices, err := loopdevice.Find(func(info *unix.LoopInfo64) bool { return isOf(info, want) })
	if len(devices) == 0 || err != nil {
		return "", err
	}
	return devices[0], nil
}

func isOf(info *unix.LoopInfo64, image unix.Stat_t) bool {
	return info.Device == image.Dev && info.Inode == image.Ino
}

// letGo is how long a loop device may outlive its last mount: containers that begin have a copy of
// all mounts for a moment, and whoever looks for a loop device opens each of them.
const letGo = 2 * time.Second

// findLoopInUse is the loop device of an image that somebody goes on using, "" if there is none.
func findLoopInUse(ctx context.Context, image string) (device string, err error) {
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, letGo, true, func(context.Context) (bool, error) {
		device, err = findLoop(image)
		return device == "", err
	})
	if device != "" && wait.Interrupted(err) {
		err = nil
	}
	return device, err
}

// attachLoop gives an image a loop device, or finds the one it has. With autoclear the
// kernel detaches it when nobody has it open or mounted any more, so also if this process is
// killed; it stays as long as hold is open.
func attachLoop(image string, autoclear bool) (device string, hold *os.File, err error) {
	device, hold, err = holdLoop(image)
	if device != "" || err != nil {
		return device, hold, err
	}
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	var info unix.LoopInfo64
	if autoclear {
		info.Flags = unix.LO_FLAGS_AUTOCLEAR
	}
	return loopdevice.Attach(file, info)
}

// holdLoop opens the loop device of an image, if it has one. Until hold is closed, the device leads to the image.
func holdLoop(image string) (device string, hold *os.File, err error) {
	device, err = findLoop(image)
	if device == "" || err != nil {
		return "", nil, err
	}
	hold, err = os.OpenFile(device, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return "", nil, nil // just detached
	}
	if err != nil {
		return "", nil, err
	}
	var want unix.Stat_t
	if err := unix.Stat(image, &want); err != nil {
		return "", nil, errors.Join(fmt.Errorf("image %s: %w", image, err), hold.Close())
	}
	if info, err := unix.IoctlLoopGetStatus64(int(hold.Fd())); err != nil || !isOf(info, want) {
		return "", nil, hold.Close() // just detached
	}
	return device, hold, nil
}

// awaitUnmounted waits until nobody has a device mounted any more.
func awaitUnmounted(ctx context.Context, device string) (err error) {
	_ = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, letGo, true, func(context.Context) (bool, error) {
		var file *os.File
		if file, err = os.OpenFile(device, os.O_RDONLY|unix.O_EXCL, 0); err == nil {
			err = file.Close()
		}
		return !errors.Is(err, unix.EBUSY), nil
	})
	return err
}

// growLoop lets a loop device be as long as its image.
func growLoop(device string) error {
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.IoctlSetInt(int(file.Fd()), unix.LOOP_SET_CAPACITY, 0), file.Close())
}

// detachLoop takes the loop device from an image; there may be none. If somebody has it open
// the kernel detaches it when that ends.
func detachLoop(image string) error {
	device, err := findLoop(image)
	if device == "" || err != nil {
		return err
	}
	return loopdevice.Detach(device)
}

// syncLoop writes what was written to a block device to its image.
func syncLoop(device string) error {
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
