package volumes

import (
	"context"
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CSI gives pods the volumes of CSI drivers (package node/csi, A-CSI).
type CSI interface {
	// Publish makes a volume available to a pod. What is there already is left alone. The error is a
	// MountError or, if the volume can't be asked for, a ClaimError.
	Publish(ctx context.Context, r CSIRequest) (CSIVolume, error)
	// Unpublish takes all volumes of a pod back, of which no container is left.
	Unpublish(ctx context.Context, pod types.UID) error
}

// CSIVolume is a volume that a pod has.
type CSIVolume struct {
	Path string // a folder, or a block device
	// Relabel: the runtime may give its files the SELinux label of the container (A-VOL-2).
	Relabel bool
}

// CSIRequest is a volume of a pod.
type CSIRequest struct {
	Pod *v1.Pod
	// Volume is its name in the pod.
	Volume string
	// Inline is a volume of the pod's own; nil: it is Bound.
	Inline   *v1.Volume
	Bound    *v1.PersistentVolume
	ReadOnly bool
	// Own gives the files of a volume to the pod's fsGroup, for drivers that don't do that
	// themselves.
	Own func(dir string) error
	// Again: the pod has it, and may need it published anew (A-CSI-11).
	Again bool
}

// inlineCSI is a volume of a driver that lives and dies with the pod.
func (p preparer) inlineCSI(ctx context.Context, volume *v1.Volume) (mounted, error) {
	readOnly := volume.CSI.ReadOnly != nil && *volume.CSI.ReadOnly
	published, err := p.publish(ctx, CSIRequest{Inline: volume, ReadOnly: readOnly})
	return mounted{path: published.Path, readOnly: readOnly, relabel: published.Relabel}, err
}

// boundCSI is a volume of a driver that a claim is bound to.
func (p preparer) boundCSI(ctx context.Context, bound *v1.PersistentVolume, readOnly bool) (mounted, error) {
	published, err := p.publish(ctx, CSIRequest{Bound: bound, ReadOnly: readOnly})
	if err != nil {
		return mounted{}, err
	}
	if !isBlock(bound) {
		return mounted{path: published.Path, relabel: published.Relabel}, nil
	}
	device, err := localDevice(published.Path)
	if err != nil {
		return mounted{}, &MountError{Volume: bound.Name, Step: "MapVolume.MapBlockVolume failed", Err: err}
	}
	return device, nil
}

// ofDriver is a volume of the pod that a driver has: of its own, or of a type that was handed over
// to drivers. There are no others.
func (p preparer) ofDriver(ctx context.Context, volume *v1.Volume) (mounted, error) {
	switch {
	case p.sources.CSI == nil || p.sources.API == nil:
	case volume.CSI != nil:
		return p.inlineCSI(ctx, volume)
	default:
		bound, err := p.sources.API.Migrated(p.pod, volume)
		if err != nil {
			return mounted{}, err
		}
		if bound != nil {
			return p.boundCSI(ctx, bound, false)
		}
	}
	return mounted{}, fmt.Errorf("volumes of type %s are not supported; use %s", setField(reflect.ValueOf(volume.VolumeSource)), supportedTypes)
}

func (p preparer) publish(ctx context.Context, r CSIRequest) (CSIVolume, error) {
	r.Pod, r.Volume, r.Own, r.Again = p.pod, p.volume, p.ownUnless, p.again
	return p.sources.CSI.Publish(ctx, r)
}

// ownUnless gives a volume to the pod's fsGroup, unless fsGroupChangePolicy spares it.
func (p preparer) ownUnless(dir string) error {
	if p.keepsOwners(dir) {
		return nil
	}
	return own(dir, p.fsGroup(), false)
}

// refresh brings one volume up to date.
func (p preparer) refresh(ctx context.Context, volume *v1.Volume) error {
	p.volume = volume.Name
	if bound := p.rememberedCSI(volume); bound != nil {
		readOnly := volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ReadOnly
		_, err := p.publish(ctx, CSIRequest{Bound: bound, ReadOnly: readOnly})
		return err
	}
	_, err := p.prepare(ctx, volume)
	return err
}

// rememberedCSI is the volume of a driver that a claim is bound to, or nil.
func (p preparer) rememberedCSI(volume *v1.Volume) *v1.PersistentVolume {
	if p.sources.CSI == nil || volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil {
		return nil
	}
	if bound := p.remembered(volume); bound != nil && bound.Spec.CSI != nil {
		return bound
	}
	return nil
}
