package volumes

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Operation is what was done for one volume (A-VOL-7).
type Operation struct {
	Plugin string // that Kubernetes has for such volumes
	Name   string // such as volume_mount
	Failed bool
	Took   time.Duration
}

// Ended is an operation that is over.
func Ended(plugin, name string, began time.Time, err error) Operation {
	return Operation{Plugin: plugin, Name: name, Failed: err != nil, Took: time.Since(began)}
}

// pluginOf is the plugin of a volume of this package; empty for those of CSI drivers. bound is what
// a claim is bound to.
func pluginOf(volume *v1.Volume, bound *v1.PersistentVolume) string {
	switch {
	case volume.HostPath != nil, bound != nil && bound.Spec.HostPath != nil:
		return "kubernetes.io/host-path"
	case bound != nil && bound.Spec.Local != nil:
		return "kubernetes.io/local-volume"
	case volume.ConfigMap != nil:
		return "kubernetes.io/configmap"
	case volume.Secret != nil:
		return "kubernetes.io/secret"
	case volume.DownwardAPI != nil:
		return "kubernetes.io/downward-api"
	case volume.Projected != nil:
		return "kubernetes.io/projected"
	case volume.Image != nil:
		return "kubernetes.io/image"
	case volume.EmptyDir != nil || volume.VolumeSource == (v1.VolumeSource{}):
		return "kubernetes.io/empty-dir"
	}
	return ""
}

// mountEnded counts that a volume was mounted, or failed to be. A claim without a volume is no
// operation.
func (p preparer) mountEnded(volume *v1.Volume, began time.Time, err error) (plugin string) {
	if _, unbound := errors.AsType[*ClaimError](err); unbound || p.sources.Operation == nil {
		return ""
	}
	var bound *v1.PersistentVolume
	if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
		bound = p.remembered(volume)
	}
	if plugin = pluginOf(volume, bound); plugin == "" {
		return ""
	}
	name := "volume_mount"
	if bound != nil && isBlock(bound) {
		name = "map_volume"
	}
	p.sources.Operation(Ended(plugin, name, began, err))
	return plugin
}

// Unmounted are the operations that have taken the volumes away, all at once. Those of CSI drivers
// are not among them.
func (m Mounted) Unmounted(began time.Time, err error) (list []Operation) {
	for _, v := range m.volumes {
		if v.plugin == "" {
			continue
		}
		name := "volume_unmount"
		if v.device != "" {
			name = "unmap_volume"
		}
		list = append(list, Ended(v.plugin, name, began, err))
	}
	return list
}
