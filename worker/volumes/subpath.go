package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// SubPathError says in its text, which users of the API see, what the kernel has refused, but not at which path of
// the host; log Err.
type SubPathError struct {
	text string
	Err  error
}

func (e *SubPathError) Error() string { return e.text }

// Unwrap makes the cause available to errors.Is.
func (e *SubPathError) Unwrap() error { return e.Err }

func newSubPathError(text string, cause error) *SubPathError {
	if errno, is := errors.AsType[unix.Errno](cause); is {
		text += ": " + errno.Error()
	}
	return &SubPathError{text: text, Err: cause}
}

// checkSubPath checks a sub path after its expansion (A-VOL-3).
func checkSubPath(path string) error {
	if filepath.IsAbs(path) {
		return fmt.Errorf("error SubPath `%s` must not be an absolute path", path)
	}
	if slices.Contains(strings.Split(path, "/"), "..") {
		return fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", path)
	}
	return nil
}

// subPathMount is a sub path of a volume, bound to a path that only the host can
// change: a container that swaps a folder for a link between the check and the
// mount gains nothing (CVE-2017-1002101).
type subPathMount struct {
	volumePath, subPath, target string
}

// ensureExists makes the folders that are missing, with the volume's mode: the
// runtime would make them with one that shuts out the pod's group.
func (s subPathMount) ensureExists() error {
	root, err := os.OpenRoot(s.volumePath)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	path := ""
	for name := range strings.SplitSeq(filepath.Clean(s.subPath), "/") {
		path = filepath.Join(path, name)
		if _, err := root.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			// What else may be wrong with it is for bind to find out.
			continue
		}
		switch err := root.Mkdir(path, info.Mode().Perm()); {
		case errors.Is(err, fs.ErrExist): // another pod has made it meanwhile (A-VOL-3)
			continue
		case err != nil:
			return err
		}
		if err := root.Chmod(path, info.Mode()); err != nil {
			return err
		}
	}
	return nil
}

// bind mounts the sub path at the target, replacing a mount of something else
// that an earlier container had there.
func (s subPathMount) bind() error {
	source, err := openBeneath(s.volumePath, s.subPath)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(source) }()
	var want, have unix.Stat_t
	if err := unix.Fstat(source, &want); err != nil {
		return err
	}
	if unix.Lstat(s.target, &have) == nil {
		if want.Dev == have.Dev && want.Ino == have.Ino {
			return nil
		}
		if err := errors.Join(makePrivate(s.target), unmount(s.target)); err != nil {
			return err
		}
		if err := os.Remove(s.target); err != nil {
			return err
		}
	}
	if err := makeTarget(s.target, want.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
		return err
	}
	return unix.Mount(fmt.Sprintf("/proc/self/fd/%d", source), s.target, "", unix.MS_BIND, "")
}

// openBeneath opens a path for use as a mount source; links that lead out of the
// volume are refused by the kernel.
func openBeneath(volumePath, subPath string) (int, error) {
	volume, err := unix.Open(volumePath, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(volume) }()
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(volume, subPath, how)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		return fd, err
	}
}

func makeTarget(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o750)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return createFile(path)
}

// Devices are the block devices of a container, in the order of its
// volumeDevices: read-only or for everything, mknod too (A-VOL-4). An error is
// the message of the reason CreateContainerConfigError.
func (m Mounted) Devices(container *v1.Container) ([]*runtimeapi.Device, error) {
	var out []*runtimeapi.Device
	for _, d := range container.VolumeDevices {
		if !filepath.IsAbs(d.DevicePath) {
			return nil, fmt.Errorf("error DevicePath `%s` must be an absolute path", d.DevicePath)
		}
		volume, found := m.volumes[d.Name]
		if !found || volume.device == "" {
			return nil, fmt.Errorf("cannot find volume %q to pass into container %q", d.Name, container.Name)
		}
		permissions := "mrw"
		if volume.readOnly {
			permissions = "r"
		}
		out = append(out, &runtimeapi.Device{HostPath: volume.device, ContainerPath: d.DevicePath, Permissions: permissions})
	}
	return out, nil
}
