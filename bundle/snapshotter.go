package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	overlayfs = "overlayfs"
	native    = "native"
)

// platform is the one whose images are unpacked.
func platform() string { return "linux/" + runtime.GOARCH }

// chooseSnapshotter takes the one that the root was started with, because
// images that were unpacked with one are of no use to the other.
func chooseSnapshotter(p Paths) (string, error) {
	for _, name := range []string{overlayfs, native} {
		if _, err := os.Stat(filepath.Join(p.content(), "io.containerd.snapshotter.v1."+name)); err == nil {
			return name, nil
		}
	}
	if err := tryOverlay(p.Root); err == nil {
		return overlayfs, nil
	} else if !isUnsupported(err) {
		return "", fmt.Errorf("try overlayfs below %s: %w", p.Root, err)
	}
	return native, nil
}

// tryOverlay mounts an overlay whose layers lie below dir.
func tryOverlay(dir string) error {
	base, err := os.MkdirTemp(dir, ".overlay-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(base) }()
	var options []string
	for _, name := range []string{"lowerdir", "upperdir", "workdir"} {
		sub := filepath.Join(base, name)
		if err := os.Mkdir(sub, 0o700); err != nil {
			return err
		}
		options = append(options, name+"="+sub)
	}
	target := filepath.Join(base, "merged")
	if err := os.Mkdir(target, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("overlay", target, "overlay", 0, strings.Join(options, ",")); err != nil {
		return &os.PathError{Op: "mount overlay", Path: target, Err: err}
	}
	return unix.Unmount(target, unix.MNT_DETACH)
}

// isUnsupported tells a file system or kernel without overlays from a
// failure of another kind.
func isUnsupported(err error) bool {
	return slices.ContainsFunc([]error{unix.EINVAL, unix.ENODEV, unix.EPERM, unix.EOPNOTSUPP}, func(target error) bool {
		return errors.Is(err, target)
	})
}
