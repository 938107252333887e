package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var errNoMountOptions = errors.New("Mount options are not supported for this volume type") //nolint:staticcheck // Kubernetes' text

// persistent makes what a claim is bound to available in the pod.
func (p preparer) persistent(ctx context.Context, bound *v1.PersistentVolume, readOnly bool) (mounted, error) {
	failed := func(step string, err error) (mounted, error) {
		return mounted{}, &MountError{Volume: bound.Name, Step: step, Err: err}
	}
	source := &bound.Spec.PersistentVolumeSource
	var out mounted
	var err error
	switch {
	case source.Local != nil && isBlock(bound):
		out, err = localDevice(source.Local.Path)
	case source.Local != nil:
		out, err = p.local(bound, readOnly)
	case source.HostPath != nil && !isBlock(bound):
		if len(bound.Spec.MountOptions) > 0 {
			return failed("MountVolume.MountOptionSupport check failed", errNoMountOptions)
		}
		out, err = mounted{path: source.HostPath.Path}, checkHostPath(source.HostPath)
	case source.CSI != nil && p.sources.CSI != nil:
		out, err = p.boundCSI(ctx, bound, readOnly)
	default:
		err = fmt.Errorf("persistent volumes of type %s with volumeMode %s are not supported; use csi, local, or hostPath with volumeMode Filesystem", setField(reflect.ValueOf(*source)), modeOf(bound))
	}
	if _, has := errors.AsType[*MountError](err); has {
		return mounted{}, err
	}
	if _, has := errors.AsType[*ClaimError](err); has {
		return mounted{}, err
	}
	if err != nil && source.Local != nil && isBlock(bound) {
		return failed("MapVolume.MapBlockVolume failed", err)
	}
	if err != nil {
		return failed("", err)
	}
	out.name, out.readOnly, out.group = bound.Name, readOnly, groupOf(bound)
	return out, nil
}

// groupOf is the group that may use a volume, or nil; like Kubernetes it passes over
// a value that is no number.
func groupOf(bound *v1.PersistentVolume) *int64 {
	group, err := strconv.ParseInt(bound.Annotations["pv.beta.kubernetes.io/gid"], 10, 64)
	if err != nil {
		return nil
	}
	return &group
}

func modeOf(bound *v1.PersistentVolume) v1.PersistentVolumeMode {
	if isBlock(bound) {
		return v1.PersistentVolumeBlock
	}
	return v1.PersistentVolumeFilesystem
}

// localDevice is a local volume that containers get as a device (A-VOL-4).
func localDevice(path string) (mounted, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return mounted{}, err
	}
	var stat unix.Stat_t
	if err := unix.Stat(real, &stat); err != nil {
		return mounted{}, fmt.Errorf("stat %s: %w", real, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFBLK {
		return mounted{}, fmt.Errorf("%s is not a block device", path)
	}
	return mounted{device: real}, nil
}

// local mounts the folder of a local volume at a place in the pod's folder. A
// mount that is there, of an earlier Prepare or of a kubelet, is left alone.
func (p preparer) local(bound *v1.PersistentVolume, readOnly bool) (mounted, error) {
	path, dir := bound.Spec.Local.Path, Folder(p.podDir, &v1.Volume{}, bound.Name)
	if err := checkLocal(path); err != nil {
		return mounted{}, err
	}
	flags, err := bindFlags(bound.Spec.MountOptions, readOnly)
	if err != nil {
		return mounted{}, err
	}
	refs, err := podMounts(path, filepath.Dir(p.podDir))
	if err != nil {
		return mounted{}, err
	}
	there, err := refs.at(dir)
	if there || err != nil {
		return mounted{path: dir, relabel: !readOnly}, err
	}
	if len(refs) > 0 && onlyOnePod(bound) {
		return mounted{}, errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	// Before the mount: if we are interrupted, it is done again. Once only, by the
	// first of the pods that share the volume.
	if !readOnly && len(refs) == 0 {
		if err := p.ownUnless(path); err != nil {
			return mounted{}, err
		}
	}
	return mounted{path: dir, relabel: !readOnly}, bind(path, dir, flags)
}

func checkLocal(path string) error {
	if strings.Contains("/"+path+"/", "/../") {
		return fmt.Errorf("invalid path: %s must not contain '..'", path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return nil
	case info.Mode().Type() == os.ModeDevice:
		return fmt.Errorf("%s is a block device: local volumes with a file system on a device are not supported; mount it, and use the folder", path)
	}
	return errors.New("only directory and block device are supported")
}

func onlyOnePod(bound *v1.PersistentVolume) bool {
	modes := bound.Spec.AccessModes
	return len(modes) == 1 && modes[0] == v1.ReadWriteOncePod
}

// unknownError is the failure of a source of which nothing is known for now, as
// the API server does not answer.
type unknownError struct{ error }

// Unwrap makes the cause available to errors.Is.
func (e unknownError) Unwrap() error { return e.error }

// sourceFailed marks a failure that says nothing of the source itself.
func sourceFailed(err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return err
	}
	return unknownError{err}
}

// kept says that a volume is left as it is: nothing is known of its sources, and
// it was complete before, made by a lifepod that ended since, or by a kubelet.
// Containers start with it, as those that run go on with it. Whoever has the
// sources tells when they are known again.
func kept(dir string, failures ...error) bool {
	if len(failures) == 0 || slices.ContainsFunc(failures, func(err error) bool { return !errors.As(err, new(unknownError)) }) {
		return false
	}
	_, missing := os.Stat(filepath.Join(dir, dataLink))
	return missing == nil
}
