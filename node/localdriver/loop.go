package localdriver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// attempts is how often a free loop device is looked for, if others take them first.
const attempts = 16

// findLoop is the loop device of an image, "" if there is none. An image never gets a
// second one: two file systems on one file destroy it.
func findLoop(image string) (device string, err error) {
	var want unix.Stat_t
	if err := unix.Stat(image, &want); err != nil {
		return "", fmt.Errorf("image %s: %w", image, err)
	}
	bound, err := filepath.Glob("/sys/block/loop*/loop")
	if err != nil {
		return "", err
	}
	for _, path := range bound {
		device := filepath.Join("/dev", filepath.Base(filepath.Dir(path)))
		info, err := loopInfo(device)
		if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENOENT) {
			continue // just detached
		}
		if err != nil {
			return "", fmt.Errorf("loop device %s: %w", device, err)
		}
		if info.Device == want.Dev && info.Inode == want.Ino {
			return device, nil
		}
	}
	return "", nil
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

func loopInfo(device string) (*unix.LoopInfo64, error) {
	file, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return unix.IoctlLoopGetStatus64(int(file.Fd()))
}

// attachLoop gives an image a loop device, or finds the one it has. With autoclear the
// kernel detaches it when nobody has it open or mounted any more, so also if this process is
// killed; it stays as long as hold is open.
func attachLoop(image string, autoclear bool) (device string, hold *os.File, err error) {
	device, err = findLoop(image)
	if err != nil {
		return "", nil, err
	}
	if device != "" {
		hold, err = os.OpenFile(device, os.O_RDWR, 0)
		return device, hold, err
	}
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	config := unix.LoopConfig{Fd: uint32(file.Fd())}
	copy(config.Info.File_name[:len(config.Info.File_name)-1], image)
	if autoclear {
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
	}
	for range attempts {
		device, hold, err = freeLoop()
		if err != nil {
			return "", nil, err
		}
		err = unix.IoctlLoopConfigure(int(hold.Fd()), &config)
		if err == nil {
			return device, hold, nil
		}
		_ = hold.Close()
		if !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	return "", nil, fmt.Errorf("configure loop device %s: %w", device, err)
}

func freeLoop() (device string, open *os.File, err error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", nil, fmt.Errorf("loop devices: %w", err)
	}
	defer control.Close()
	number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return "", nil, fmt.Errorf("find a free loop device: %w", err)
	}
	device = fmt.Sprintf("/dev/loop%d", number)
	open, err = os.OpenFile(device, os.O_RDWR, 0)
	return device, open, err
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
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = unix.IoctlSetInt(int(file.Fd()), unix.LOOP_CLR_FD, 0)
	if errors.Is(err, unix.ENXIO) {
		err = nil // detached already
	}
	return errors.Join(err, file.Close())
}

// syncLoop writes what was written to a block device to its image.
func syncLoop(device string) error {
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
