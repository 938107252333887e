package csi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// keptDevice is where a kubelet binds a pod's device to, for a loop device that keeps it open.
func keptDevice(l layout, uid types.UID, name string) string {
	return filepath.Join(l.ofDevice(name), "dev", string(uid))
}

// releaseKept gives a pod's device free that a kubelet has kept open: as long as it is, the driver
// can't take it back.
func releaseKept(l layout, u use) error {
	path := keptDevice(l, u.uid, u.name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	loops, err := loopsOf(path)
	if err != nil {
		return err
	}
	for _, loop := range loops {
		if err := detach(loop); err != nil {
			return fmt.Errorf("detach loop device %s of %s: %w", loop, path, err)
		}
	}
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(path))
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		if err := unix.Unmount(path, 0); err != nil {
			return fmt.Errorf("unmount %s: %w", path, err)
		}
	}
	return removeIfThere(path)
}

// loopsOf are the loop devices that are made of a file.
func loopsOf(file string) (devices []string, err error) {
	attributes, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	for _, attribute := range attributes {
		backing, err := os.ReadFile(attribute)
		if err != nil {
			continue // it has gone meanwhile
		}
		if strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(backing)), "(deleted)")) == file {
			devices = append(devices, filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(attribute)))))
		}
	}
	return devices, nil
}

// detach frees a loop device; one that is free already is no error.
func detach(device string) error {
	f, err := os.Open(device)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer f.Close()
	if err := unix.IoctlSetInt(int(f.Fd()), unix.LOOP_CLR_FD, 0); err != nil && !errors.Is(err, unix.ENXIO) {
		return err
	}
	return nil
}
