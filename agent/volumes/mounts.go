package volumes

import (
	"fmt"
	"path/filepath"

	"github.com/lifepod/lifepod/agent/environment"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"
)

// Mounts are the mounts of a container in the order of its volumeMounts
// (A-VOL-2), with env for subPathExpr. recursiveReadOnly says whether the
// runtime supports that. Bind mounts for sub paths are made here, so it is to be
// called just before the container is created. An error is the message of the
// reason CreateContainerConfigError.
func (m Mounted) Mounts(container *v1.Container, env []environment.KeyValue, recursiveReadOnly bool) ([]*runtimeapi.Mount, error) {
	var out []*runtimeapi.Mount
	for i := range container.VolumeMounts {
		mount := &container.VolumeMounts[i]
		volume, found := m.volumes[mount.Name]
		if !found {
			return nil, fmt.Errorf("cannot find volume %q to mount into container %q", mount.Name, container.Name)
		}
		path, err := m.source(container, i, env)
		if err != nil {
			return nil, err
		}
		propagation, err := propagationOf(mount)
		if err != nil {
			return nil, err
		}
		recursive, err := recursiveReadOnlyOf(mount, recursiveReadOnly)
		if err != nil {
			return nil, fmt.Errorf("failed to resolve recursive read-only mode: %w", err)
		}
		out = append(out, &runtimeapi.Mount{
			HostPath: path, ContainerPath: absolute(mount.MountPath),
			Readonly: mount.ReadOnly || volume.readOnly, RecursiveReadOnly: recursive, Propagation: propagation,
		})
	}
	return out, nil
}

// source is the host's path of a mount: the volume, or what stands for its sub
// path.
func (m Mounted) source(container *v1.Container, index int, env []environment.KeyValue) (string, error) {
	mount := &container.VolumeMounts[index]
	volume := m.volumes[mount.Name]
	subPath, err := environment.SubPath(mount, env)
	if err != nil || subPath == "" {
		return volume.path, err
	}
	if err := checkSubPath(subPath); err != nil {
		return "", err
	}
	s := subPathMount{
		volumePath: volume.path, subPath: subPath,
		target: filepath.Join(m.podDir, "volume-subpaths", mount.Name, container.Name, fmt.Sprint(index)),
	}
	if err := s.ensureExists(); err != nil {
		return "", &SubPathError{text: fmt.Sprintf("failed to create subPath directory for volumeMount %q of container %q", mount.Name, container.Name), Err: err}
	}
	if err := s.bind(); err != nil {
		return "", &SubPathError{text: fmt.Sprintf("failed to prepare subPath for volumeMount %q of container %q", mount.Name, container.Name), Err: err}
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
