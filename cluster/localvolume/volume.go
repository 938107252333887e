package localvolume

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// finalizer keeps a volume's object until its folder is deleted, also if somebody
// deletes the volume before the claim (KEP-2644). The name is that of other
// provisioners, so that tools know it.
const finalizer = "external-provisioner.volume.kubernetes.io/finalizer"

func (p *provisioner) volume(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, ref *v1.ObjectReference, path string) *v1.PersistentVolume {
	reclaim, mode := v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeFilesystem
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(ref), Annotations: map[string]string{provisionedBy: Provisioner}},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource:        v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: path}},
			AccessModes:                   claim.Spec.AccessModes,
			ClaimRef:                      ref,
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			VolumeMode:                    &mode,
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{p.Hostname}}},
			}}}},
		},
	}
	if reclaim == v1.PersistentVolumeReclaimDelete {
		volume.Finalizers = []string{finalizer}
	}
	return volume
}

// here says whether a volume was made by us, on this node.
func (p *provisioner) here(volume *v1.PersistentVolume) bool {
	affinity := volume.Spec.NodeAffinity
	if volume.Annotations[provisionedBy] != Provisioner || volume.Spec.ClaimRef == nil || affinity == nil || affinity.Required == nil {
		return false
	}
	terms := affinity.Required.NodeSelectorTerms
	return len(terms) == 1 && len(terms[0].MatchExpressions) == 1 && terms[0].MatchExpressions[0].Key == v1.LabelHostname &&
		slices.Equal(terms[0].MatchExpressions[0].Values, []string{p.Hostname})
}

// syncVolume deletes a volume that nobody claims any more, if it is to be deleted,
// and keeps the finalizer on those that are.
func (p *provisioner) syncVolume(ctx context.Context, name string) error {
	volume, err := p.volumes.Get(name)
	if err != nil || !p.here(volume) {
		return ignoreMissing(err)
	}
	ours := volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	marked := slices.Contains(volume.Finalizers, finalizer)
	switch {
	case ours && volume.Status.Phase == v1.VolumeReleased && (marked || volume.DeletionTimestamp == nil):
		return p.reclaim(ctx, volume)
	case ours != marked && (volume.DeletionTimestamp == nil || marked):
		return p.mark(ctx, volume, ours)
	}
	return nil
}

// reclaim deletes the folder, and then the object: as long as the object is there,
// the folder is tried to be deleted.
func (p *provisioner) reclaim(ctx context.Context, volume *v1.PersistentVolume) error {
	if err := deleteFolder(p.Dir, volume); err != nil {
		p.recorder.Event(volume, v1.EventTypeWarning, "VolumeFailedDelete", err.Error())
		return fmt.Errorf("delete volume: %w", err)
	}
	if volume.DeletionTimestamp == nil {
		err := p.Client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}})
		if ignoreMissing(err) != nil {
			return fmt.Errorf("delete volume: %w", err)
		}
	}
	return p.mark(ctx, volume, false)
}

// mark adds or removes the finalizer.
func (p *provisioner) mark(ctx context.Context, volume *v1.PersistentVolume, with bool) error {
	metadata := map[string]any{"uid": volume.UID, "finalizers": []string{finalizer}}
	if !with {
		delete(metadata, "finalizers")
		metadata["$deleteFromPrimitiveList/finalizers"] = []string{finalizer}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = p.Client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if ignoreMissing(err) != nil {
		return fmt.Errorf("finalizer of volume: %w", err)
	}
	return nil
}
