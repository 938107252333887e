package volumes

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/lifepod/lifepod/worker/criconfig"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"
)

// MountInput is what the mounts of one container depend on, beside its pod.
type MountInput struct {
	// Env expands subPathExpr.
	Env []criconfig.KeyValue
	// Images are those of image volumes, by volume.
	Images map[string]*runtimeapi.ImageSpec
	// RecursiveReadOnly says that the runtime supports that.
	RecursiveReadOnly bool
	// SELinux says that the machine has it enabled.
	SELinux bool
}

// Mounts are the mounts of a container in the order of its volumeMounts
// (A-VOL-2). Bind mounts for sub paths are made here, so it is to be called just
// before the container is created. All sub paths of a volume are of one version (A-VOL-5).
// An error is the message of the reason CreateContainerConfigError.
func (m Mounted) Mounts(container *v1.Container, in MountInput) ([]*runtimeapi.Mount, error) {
	unlock, err := lockVersions(m.podDir, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []*runtimeapi.Mount
	for i := range container.VolumeMounts {
		mount, err := m.mount(container, i, in)
		if err != nil {
			return nil, err
		}
		out = append(out, mount)
	}
	return out, nil
}

func (m Mounted) mount(container *v1.Container, index int, in MountInput) (*runtimeapi.Mount, error) {
	mount := &container.VolumeMounts[index]
	volume, found := m.volumes[mount.Name]
	if !found || volume.device != "" || volume.image && in.Images[mount.Name] == nil {
		return nil, fmt.Errorf("cannot find volume %q to mount into container %q", mount.Name, container.Name)
	}
	subPath, err := criconfig.SubPath(mount, in.Env)
	if err == nil && subPath != "" {
		err = checkSubPath(subPath)
	}
	if err != nil {
		return nil, err
	}
	out := &runtimeapi.Mount{
		ContainerPath: absolute(mount.MountPath), Readonly: mount.ReadOnly || volume.readOnly, SelinuxRelabel: volume.relabel && in.SELinux,
	}
	if volume.image {
		out.Image, out.ImageSubPath = in.Images[mount.Name], subPath
	} else if out.HostPath, err = m.source(container, index, subPath); err != nil {
		return nil, err
	}
	if out.Propagation, err = propagationOf(mount); err != nil {
		return nil, err
	}
	if out.RecursiveReadOnly, err = recursiveReadOnlyOf(mount, in.RecursiveReadOnly); err != nil {
		return nil, fmt.Errorf("failed to resolve recursive read-only mode: %w", err)
	}
	return out, nil
}

// source is the host's path of a mount: the volume, or what stands for its sub
// path.
func (m Mounted) source(container *v1.Container, index int, subPath string) (string, error) {
	mount := &container.VolumeMounts[index]
	volume := m.volumes[mount.Name]
	if subPath == "" {
		return volume.path, nil
	}
	s := subPathMount{
		volumePath: volume.path, subPath: subPath,
		target: filepath.Join(subPathsOf(m.podDir, cmp.Or(volume.name, mount.Name)), container.Name, fmt.Sprint(index)),
	}
	if err := s.ensureExists(); err != nil {
		return "", newSubPathError(fmt.Sprintf("failed to create subPath directory for volumeMount %q of container %q", mount.Name, container.Name), err)
	}
	if err := s.bind(); err != nil {
		return "", newSubPathError(fmt.Sprintf("failed to prepare subPath for volumeMount %q of container %q", mount.Name, container.Name), err)
	}
	return s.target, nil
}

func propagationOf(mount *v1.VolumeMount) (runtimeapi.MountPropagation, error) {
	switch mode := ptr.Deref(mount.MountPropagation, v1.MountPropagationNone); mode {
	case v1.MountPropagationNone:
		return runtimeapi.MountPropagation_PROPAGATION_PRIVATE, nil
	case v1.MountPropagationHostToContainer:
		return runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER, nil
	case v1.MountPropagationBidirectional:
		return runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL, nil
	default:
		return 0, fmt.Errorf("invalid MountPropagation mode: %q", mode)
	}
}

func recursiveReadOnlyOf(mount *v1.VolumeMount, supported bool) (bool, error) {
	mode := ptr.Deref(mount.RecursiveReadOnly, v1.RecursiveReadOnlyDisabled)
	if mode == v1.RecursiveReadOnlyDisabled {
		return false, nil
	}
	if !mount.ReadOnly {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not read-only", mount.Name)
	}
	if p := ptr.Deref(mount.MountPropagation, v1.MountPropagationNone); p != v1.MountPropagationNone {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not compatible with propagation %q", mount.Name, p)
	}
	switch mode {
	case v1.RecursiveReadOnlyIfPossible:
		return supported, nil
	case v1.RecursiveReadOnlyEnabled:
		if !supported {
			return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not supported by the runtime", mount.Name)
		}
		return true, nil
	}
	return false, fmt.Errorf("unknown recursive read-only mode %q", mode)
}

// absolute roots a mount path that is written without a leading slash.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return "/" + path
}
