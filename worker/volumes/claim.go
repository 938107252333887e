package volumes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/lifecycle"
)

// claim makes a persistentVolumeClaim, or the claim of an ephemeral volume,
// available: what it is bound to or, without an API server, a folder.
func (p preparer) claim(ctx context.Context, volume *v1.Volume) (mounted, error) {
	if p.sources.API == nil {
		return p.claimFolder(volume.PersistentVolumeClaim)
	}
	bound := p.found[volume.Name]
	if bound == nil {
		var err error
		if bound, err = p.bound(ctx, volume); err != nil {
			return mounted{}, err
		}
	}
	if err := p.checkMode(volume.Name, bound); err != nil {
		return mounted{}, &ClaimError{Volume: volume.Name, Err: err}
	}
	readOnly := volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ReadOnly
	return p.persistent(ctx, bound, readOnly)
}

// claimFolder makes the folder of a claim, which all pods that name it share and
// which outlives them. One that is there is taken as it is, a link to a folder
// elsewhere too.
func (p preparer) claimFolder(source *v1.PersistentVolumeClaimVolumeSource) (mounted, error) {
	if p.sources.ClaimsDir == "" {
		return mounted{}, errors.New("there is no folder for persistentVolumeClaims")
	}
	dir := filepath.Join(p.sources.ClaimsDir, p.pod.Namespace, source.ClaimName)
	if err := newDiskDir(dir, nil); err != nil {
		return mounted{}, err
	}
	if source.ReadOnly || p.keepsOwners(dir) {
		return mounted{path: dir, readOnly: source.ReadOnly, relabel: !source.ReadOnly}, nil
	}
	return mounted{path: dir, relabel: true}, own(dir, p.fsGroup(), false)
}

// keepsOwners says that fsGroupChangePolicy OnRootMismatch spares the walk
// through a volume whose top is the group's already.
func (p preparer) keepsOwners(dir string) bool {
	group := p.fsGroup()
	if group == nil || ptr.Deref(p.pod.Spec.SecurityContext.FSGroupChangePolicy, v1.FSGroupChangeAlways) != v1.FSGroupChangeOnRootMismatch {
		return false
	}
	return ownedBy(dir, *group)
}

func isBlock(bound *v1.PersistentVolume) bool {
	return ptr.Deref(bound.Spec.VolumeMode, v1.PersistentVolumeFilesystem) == v1.PersistentVolumeBlock
}

// checkMode refuses a device that a container mounts, and a file system that it
// wants as a device.
func (p preparer) checkMode(volume string, bound *v1.PersistentVolume) error {
	mode, field := v1.PersistentVolumeFilesystem, ""
	if isBlock(bound) {
		mode = v1.PersistentVolumeBlock
	}
	for _, c := range lifecycle.AllContainers(p.pod) {
		for _, mount := range c.VolumeMounts {
			if mount.Name == volume && mode == v1.PersistentVolumeBlock {
				field = "volumeMounts"
			}
		}
		for _, device := range c.VolumeDevices {
			if device.Name == volume && mode == v1.PersistentVolumeFilesystem {
				field = "volumeDevices"
			}
		}
	}
	if field == "" {
		return nil
	}
	return fmt.Errorf("volume %s has volumeMode %s, but is specified in %s", volume, mode, field)
}
