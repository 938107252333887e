package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/internal/apiwatch"
	"github.com/lifepod/lifepod/internal/loopdevice"
)

// newObjects are the CSIDrivers of the cluster; changed is called after each change.
func newObjects(client kubernetes.Interface, log *slog.Logger, changed func()) *apiwatch.Lazy[*storagev1.CSIDriver] {
	return apiwatch.NewLazy(apiwatch.LazyOptions[*storagev1.CSIDriver]{
		What: "CSIDrivers", Example: &storagev1.CSIDriver{}, Changed: changed, Log: log,
		From: func(reported func(context.Context, error)) cache.ListerWatcher {
			return apiwatch.Lister(client, client.StorageV1().CSIDrivers(), nil, reported)
		},
	})
}

// Object is the CSIDriver of a driver, nil when there is none. It waits a moment for the first
// reading, and must not be changed.
func (r *Registry) Object(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
	object, err := r.objects.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("look up CSIDriver %s: %w", name, err)
	}
	return object, nil
}

// Known is the CSIDriver of a driver as far as is known by now; nil when there is none. It must
// not be changed.
func (r *Registry) Known(name string) *storagev1.CSIDriver { return r.objects.Known(name) }

// keptDevice is where a pod's device is bound to, for a loop device that keeps it open.
func keptDevice(l layout, uid types.UID, name string) string {
	return filepath.Join(l.ofDevice(name), "dev", string(uid))
}

// keepDevice has the kernel keep a pod's device open, whatever becomes of this process: a container that has a loop
// device may detach it, and the next volume of anybody would get it (A-CSI-8). The loop device shows nothing of what is on
// the device: it is as small as can be.
func keepDevice(l layout, uid types.UID, name string) (err error) {
	published, path := l.publishedDevice(uid, name), keptDevice(l, uid, name)
	if kept, err := loopsOf(path); len(kept) > 0 || err != nil {
		return err
	}
	if err := releaseKept(path); err != nil { // what one who was killed has begun
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	if err := unix.Mount(published, path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind device %s to %s: %w", published, path, err)
	}
	device, err := os.Open(path)
	if err != nil {
		return err
	}
	_, loop, err := loopdevice.Attach(device, unix.LoopInfo64{Sizelimit: 512})
	if err == nil {
		err = loop.Close()
	}
	return errors.Join(err, device.Close())
}

// releaseKept gives a pod's device free that is kept open: as long as it is, the driver can't take it back.
func releaseKept(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	loops, err := loopsOf(path)
	if err != nil {
		return err
	}
	for _, loop := range loops {
		if err := loopdevice.Detach(loop); err != nil {
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
	files, err := loopdevice.Files()
	for device, of := range files {
		if strings.TrimSuffix(of, " (deleted)") == file {
			devices = append(devices, device)
		}
	}
	return devices, err
}
