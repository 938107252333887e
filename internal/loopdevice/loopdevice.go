// Package loopdevice makes block devices of files with the kernel's loop driver.
//
// Their numbers are lifepod's own and drawn at random. A device that its user may detach, as a container may that has
// it, must never come back as the device of another file: other programs take the lowest number that is free.
package loopdevice

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// first is the lowest number of our own. The minor numbers of the last one fit with up to 64 partitions a device.
	first = 1 << 13
	// numbers is how many there are.
	numbers = 1 << 13
	// attempts is how often another number is drawn, if others have it.
	attempts = 64
)

// Files are the files of all loop devices, by device, as the kernel names them: one that is deleted ends in " (deleted)".
func Files() (map[string]string, error) {
	attributes, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, attribute := range attributes {
		if text, err := os.ReadFile(attribute); err == nil { // else just detached
			files[filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(attribute))))] = strings.TrimSuffix(string(text), "\n")
		}
	}
	return files, nil
}

// Find lists the loop devices of which the kernel says what is wanted.
func Find(wanted func(*unix.LoopInfo64) bool) (devices []string, err error) {
	files, err := Files()
	if err != nil {
		return nil, err
	}
	for device := range files {
		info, err := status(device)
		if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENOENT) {
			continue // just detached
		}
		if err != nil {
			return nil, fmt.Errorf("loop device %s: %w", device, err)
		}
		if wanted(info) {
			devices = append(devices, device)
		}
	}
	return devices, nil
}

func status(device string) (*unix.LoopInfo64, error) {
	open, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	return unix.IoctlLoopGetStatus64(int(open.Fd()))
}

// Attach makes a loop device of a file, which may be a device; it is read-only if the file is. Only the flags and the
// limit of the size in info count. The device stays as it is for as long as hold is open.
func Attach(file *os.File, info unix.LoopInfo64) (device string, hold *os.File, err error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return "", nil, fmt.Errorf("loop devices: %w", err)
	}
	defer control.Close()
	removeFree(control)
	config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: info.Flags, Sizelimit: info.Sizelimit}}
	copy(config.Info.File_name[:len(config.Info.File_name)-1], file.Name())
	for range attempts {
		device, hold, err = add(control)
		if err == nil {
			if err = unix.IoctlLoopConfigure(int(hold.Fd()), &config); err == nil {
				return device, hold, nil
			}
			_ = hold.Close()
		}
		// Others may have the number, take it as a free one, or remove it as that.
		if !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENXIO) && !errors.Is(err, unix.ENOENT) {
			break
		}
	}
	removeFree(control)
	return "", nil, fmt.Errorf("make a loop device of %s: %w", file.Name(), err)
}

// add makes a loop device without a file.
func add(control *os.File) (device string, hold *os.File, err error) {
	number := first + rand.IntN(numbers)
	if err := unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_ADD, number); err != nil {
		return "", nil, err
	}
	device = fmt.Sprintf("/dev/loop%d", number)
	if hold, err = os.OpenFile(device, os.O_RDWR, 0); !errors.Is(err, os.ErrNotExist) {
		return device, hold, err
	}
	// In a container, /dev does not have what the kernel adds.
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "dev"))
	if err != nil {
		return "", nil, err
	}
	var major, minor uint32
	if _, err = fmt.Sscanf(string(text), "%d:%d", &major, &minor); err == nil {
		err = unix.Mknod(device, unix.S_IFBLK|0o600, int(unix.Mkdev(major, minor)))
	}
	if err == nil {
		hold, err = os.OpenFile(device, os.O_RDWR, 0)
	}
	return device, hold, err
}

// Detach takes its file from a loop device, and removes the device. If somebody has it open, the kernel detaches it when
// that ends. One that is detached or removed already is no error.
func Detach(device string) error {
	open, err := os.OpenFile(device, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return err
	}
	err = unix.IoctlSetInt(int(open.Fd()), unix.LOOP_CLR_FD, 0)
	if errors.Is(err, unix.ENXIO) {
		err = nil
	}
	return errors.Join(err, open.Close(), RemoveFree())
}

// RemoveFree removes the devices with numbers of our own that have no file and that nobody has open.
func RemoveFree() error {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("loop devices: %w", err)
	}
	removeFree(control)
	return control.Close()
}

func removeFree(control *os.File) {
	devices, _ := filepath.Glob("/sys/block/loop*") // the pattern is right
	for _, device := range devices {
		var number int
		if _, err := fmt.Sscanf(filepath.Base(device), "loop%d", &number); err == nil && number >= first {
			_ = unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_REMOVE, number) // refused for those in use
		}
	}
}
