package localvolume

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/node/localdriver"
)

// finalizer keeps a PersistentVolume until the driver has deleted its volume, also if somebody
// deletes it before the claim (KEP-2644). The name is that of other provisioners, so that tools
// know it.
const finalizer = "external-provisioner.volume.kubernetes.io/finalizer"

// patience is how often a volume that is in use yet is tried to be deleted before people are told:
// the node unstages it only after its pod has gone.
const patience = 5

// volumeFor is the PersistentVolume of what the driver has made.
func volumeFor(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, ref *v1.ObjectReference, volume *csi.Volume) *v1.PersistentVolume {
	reclaim, mode := v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeFilesystem
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	source := &v1.CSIPersistentVolumeSource{Driver: localdriver.Name, VolumeHandle: volume.GetVolumeId(), VolumeAttributes: volume.GetVolumeContext()}
	if block(claim) {
		mode = v1.PersistentVolumeBlock
	} else {
		source.FSType = "ext4"
	}
	made := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID), Annotations: map[string]string{provisionedBy: localdriver.Name}},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(volume.GetCapacityBytes(), resource.BinarySI)},
			PersistentVolumeSource:        v1.PersistentVolumeSource{CSI: source},
			AccessModes:                   claim.Spec.AccessModes,
			ClaimRef:                      ref,
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			VolumeMode:                    &mode,
			NodeAffinity:                  affinity(volume.GetAccessibleTopology()),
		},
	}
	if reclaim == v1.PersistentVolumeReclaimDelete {
		made.Finalizers = []string{finalizer}
	}
	return made
}

func affinity(topologies []*csi.Topology) *v1.VolumeNodeAffinity {
	required := &v1.NodeSelector{}
	for _, t := range topologies {
		term := v1.NodeSelectorTerm{}
		for key, value := range t.GetSegments() {
			term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}})
		}
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
	}
	return &v1.VolumeNodeAffinity{Required: required}
}

// made says whether a volume is the driver's.
func made(volume *v1.PersistentVolume) bool {
	return volume.Spec.CSI != nil && volume.Spec.CSI.Driver == localdriver.Name
}

// syncVolume deletes a volume that nobody claims any more, if it is to be deleted, and keeps the
// finalizer on those that are. One that an administrator has made for a volume of the driver is
// theirs.
func (c *controller) syncVolume(ctx context.Context, i item) error {
	volume, err := c.volumes.Get(i.name)
	if err != nil || !made(volume) || volume.Annotations[provisionedBy] != localdriver.Name {
		return ignoreMissing(err)
	}
	deletes := volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	marked := slices.Contains(volume.Finalizers, finalizer)
	switch {
	case deletes && volume.Status.Phase == v1.VolumeReleased && (marked || volume.DeletionTimestamp == nil):
		return c.reclaim(ctx, i, volume)
	case deletes != marked && (volume.DeletionTimestamp == nil || marked):
		return c.mark(ctx, volume, deletes)
	}
	return nil
}

// reclaim deletes the driver's volume, and then the object: as long as the object is there, the
// driver is asked.
func (c *controller) reclaim(ctx context.Context, i item, volume *v1.PersistentVolume) error {
	if err := c.deleteVolume(ctx, volume.Spec.CSI.VolumeHandle); err != nil {
		if used := status.Code(err) == codes.FailedPrecondition || status.Code(err) == codes.Aborted; !used || c.queue.NumRequeues(i) >= patience {
			c.recorder.Event(volume, v1.EventTypeWarning, "VolumeFailedDelete", shown(err).Error())
		}
		return fmt.Errorf("delete volume: %w", shown(err))
	}
	c.measureSoon()
	if volume.DeletionTimestamp == nil {
		err := c.Client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}})
		if ignoreMissing(err) != nil {
			return fmt.Errorf("delete volume: %w", err)
		}
	}
	return c.mark(ctx, volume, false)
}

func (c *controller) deleteVolume(ctx context.Context, id string) error {
	driver, err := c.drivers.Holding(id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shortCall)
	defer cancel()
	_, err = driver.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id})
	return err
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
