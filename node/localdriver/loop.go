package localdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
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

// makeImage makes a sparse file.
func makeImage(path string, bytes int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(bytes), file.Close())
}

// growImage makes a file longer, also after a power cut.
func growImage(path string, bytes int64) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Size() < bytes {
		err = errors.Join(file.Truncate(bytes), file.Sync())
	}
	return errors.Join(err, file.Close())
}

// makeFileSystem makes an ext4 in an image. Nothing is kept for root, who does not write
// there.
func makeFileSystem(image string) error {
	return run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", image)
}

// growUnmounted lets an ext4 fill its device. It must not be mounted, but for a moment.
func growUnmounted(ctx context.Context, device string) error {
	if err := awaitUnmounted(ctx, device); err != nil {
		return err
	}
	if err := mend(device); err != nil {
		return err
	}
	return run("resize2fs", device)
}

// mend checks an ext4 that is not mounted, and does what a mount would: it ends what was under way, such as a deletion
// of a file that was still open. What else is wrong is an error.
func mend(device string) error {
	var exit *exec.ExitError
	err := run("e2fsck", "-f", "-p", device)
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil // mended
	}
	return err
}

// run runs a program of e2fsprogs, which Debian and its kin always have. An error is one line,
// without the version that the program prints first.
func run(name string, args ...string) error {
	output, err := exec.Command(name, args...).CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s is not on this machine: install the package e2fsprogs", name)
	case err != nil:
		lines := slices.DeleteFunc(strings.Split(string(output), "\n"), func(line string) bool { return line == "" || strings.HasPrefix(line, name+" ") })
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines, "; "))
	}
	return nil
}

// copyImage makes a file that shares its blocks with another one, or is a copy of what the
// other one has written. A copy is broken off when ctx ends.
func copyImage(ctx context.Context, from, to string) (shared bool, err error) {
	source, err := os.Open(from)
	if err != nil {
		return false, err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return false, err
	}
	if unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) == nil {
		return true, target.Close()
	}
	return false, errors.Join(copyData(ctx, source, target), target.Close())
}

// atOnce is how many bytes are copied before it is looked whether to go on.
const atOnce = 64 << 20

// copyData leaves holes where the source has some.
func copyData(ctx context.Context, source, target *os.File) error {
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := target.Truncate(info.Size()); err != nil {
		return err
	}
	for at := int64(0); ; {
		if ctx.Err() != nil {
			return errors.New("broken off, as the driver ends")
		}
		data, err := source.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // only a hole is left
		}
		if err != nil {
			return err
		}
		end, err := source.Seek(data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if _, err := source.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := target.Seek(data, io.SeekStart); err != nil {
			return err
		}
		end = min(end, data+atOnce)
		if _, err := io.CopyN(target, source, end-data); err != nil {
			return err
		}
		at = end
	}
}
