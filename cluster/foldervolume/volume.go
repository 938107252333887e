package foldervolume

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/cluster/localvolume"
)

// provisionedBy is the annotation that says who has made a volume.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// finalizer keeps a volume's object until its folder is deleted, also if somebody
// deletes the volume before the claim (KEP-2644). The name is that of other
// provisioners, so that tools know it.
const finalizer = "external-provisioner.volume.kubernetes.io/finalizer"

// here says whether a volume was made by us, on this node.
func (c *controller) here(volume *v1.PersistentVolume) bool {
	affinity := volume.Spec.NodeAffinity
	if volume.Annotations[provisionedBy] != localvolume.Folders || volume.Spec.ClaimRef == nil || affinity == nil || affinity.Required == nil {
		return false
	}
	terms := affinity.Required.NodeSelectorTerms
	return len(terms) == 1 && len(terms[0].MatchExpressions) == 1 && terms[0].MatchExpressions[0].Key == v1.LabelHostname &&
		slices.Equal(terms[0].MatchExpressions[0].Values, []string{c.Node})
}

// sync deletes a volume that nobody claims any more, if it is to be deleted,
// and keeps the finalizer on those that are.
func (c *controller) sync(ctx context.Context, name string) error {
	volume, err := c.volumes.Get(name)
	if err != nil || !c.here(volume) {
		return ignoreMissing(err)
	}
	ours := volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	marked := slices.Contains(volume.Finalizers, finalizer)
	switch {
	case ours && volume.Status.Phase == v1.VolumeReleased && (marked || volume.DeletionTimestamp == nil):
		return c.reclaim(ctx, volume)
	case ours != marked && (volume.DeletionTimestamp == nil || marked):
		return c.mark(ctx, volume, ours)
	}
	return nil
}

// reclaim deletes the folder, and then the object: as long as the object is there,
// the folder is tried to be deleted.
func (c *controller) reclaim(ctx context.Context, volume *v1.PersistentVolume) error {
	if err := deleteFolder(c.Dir, volume); err != nil {
		c.recorder.Event(volume, v1.EventTypeWarning, "VolumeFailedDelete", err.Error())
		return fmt.Errorf("delete volume: %w", err)
	}
	if volume.DeletionTimestamp == nil {
		err := c.Client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}})
		if ignoreMissing(err) != nil {
			return fmt.Errorf("delete volume: %w", err)
		}
	}
	return c.mark(ctx, volume, false)
}

// mark adds or removes the finalizer.
func (c *controller) mark(ctx context.Context, volume *v1.PersistentVolume, with bool) error {
	metadata := map[string]any{"uid": volume.UID, "finalizers": []string{finalizer}}
	if !with {
		delete(metadata, "finalizers")
		metadata["$deleteFromPrimitiveList/finalizers"] = []string{finalizer}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = c.Client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if ignoreMissing(err) != nil {
		return fmt.Errorf("finalizer of volume: %w", err)
	}
	return nil
}
