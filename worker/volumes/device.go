package volumes

import (
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

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
