package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// bindOptions are the mount options that a bind mount can have of its own.
var bindOptions = map[string]struct{ set, clear uintptr }{
	"ro": {set: unix.MS_RDONLY}, "rw": {clear: unix.MS_RDONLY},
	"nosuid": {set: unix.MS_NOSUID}, "suid": {clear: unix.MS_NOSUID},
	"nodev": {set: unix.MS_NODEV}, "dev": {clear: unix.MS_NODEV},
	"noexec": {set: unix.MS_NOEXEC}, "exec": {clear: unix.MS_NOEXEC},
	"noatime": {set: unix.MS_NOATIME}, "atime": {clear: unix.MS_NOATIME},
	"nodiratime": {set: unix.MS_NODIRATIME}, "diratime": {clear: unix.MS_NODIRATIME},
	"relatime": {set: unix.MS_RELATIME}, "norelatime": {clear: unix.MS_RELATIME},
	"strictatime": {set: unix.MS_STRICTATIME}, "bind": {}, "defaults": {},
}

// bindFlags are the kernel's flags for mount options.
func bindFlags(options []string, readOnly bool) (uintptr, error) {
	var flags uintptr
	for _, list := range options {
		for option := range strings.SplitSeq(list, ",") {
			known, found := bindOptions[option]
			if !found {
				return 0, fmt.Errorf("mount option %q is not supported for local volumes, which are bind mounts", option)
			}
			flags = flags&^known.clear | known.set
		}
	}
	if readOnly {
		flags |= unix.MS_RDONLY
	}
	return flags, nil
}

// bind mounts a folder at another. What a failure leaves is unmounted.
func bind(path, dir string, flags uintptr) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	if err := unix.Mount(path, dir, "", unix.MS_BIND, ""); err != nil {
		return errors.Join(fmt.Errorf("bind %s to %s: %w", path, dir, err), os.Remove(dir))
	}
	if flags == 0 {
		return nil
	}
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|flags, ""); err != nil {
		return errors.Join(fmt.Errorf("set mount options of %s: %w", dir, err), unmount(dir), os.Remove(dir))
	}
	return nil
}

// places are where pods have something mounted.
type places []*mountinfo.Info

// at says whether one of them is at a folder.
func (p places) at(dir string) (bool, error) {
	if len(p) == 0 {
		return false, nil
	}
	real, err := filepath.EvalSymlinks(dir) // the folder of all pods may be behind a link
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(p, func(m *mountinfo.Info) bool { return m.Mountpoint == real }), err
}

// podMounts are the mounts of a folder below podsDir, as volumes of pods.
func podMounts(path, podsDir string) (places, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	podsDir, err = filepath.EvalSymlinks(podsDir)
	if err != nil {
		return nil, err
	}
	all, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	var holder *mountinfo.Info // the mount that the folder is on
	for _, m := range all {
		if within(real, m.Mountpoint) && (holder == nil || len(m.Mountpoint) >= len(holder.Mountpoint)) {
			holder = m
		}
	}
	if holder == nil {
		return nil, fmt.Errorf("find the mount of %s: none", path)
	}
	root := filepath.Join(holder.Root, strings.TrimPrefix(real, holder.Mountpoint))
	return slices.DeleteFunc(all, func(m *mountinfo.Info) bool {
		return m.Major != holder.Major || m.Minor != holder.Minor || m.Root != root ||
			!within(m.Mountpoint, podsDir) || !strings.Contains(m.Mountpoint, "/kubernetes.io~local-volume/")
	}), nil
}

// within says whether a clean path is a folder or below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
