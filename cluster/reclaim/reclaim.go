// Package reclaim does what every provisioner does with its PersistentVolumes: it deletes those
// that nobody claims any more, if they are to be deleted, after what is behind them.
package reclaim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Finalizer keeps a PersistentVolume until what is behind it is deleted, also if somebody deletes
// it before the claim (KEP-2644). The name is that of other provisioners, so that tools know it.
const Finalizer = "external-provisioner.volume.kubernetes.io/finalizer"

// ProvisionedBy is the annotation that says who has made a PersistentVolume.
const ProvisionedBy = "pv.kubernetes.io/provisioned-by"

// Sync deletes a volume of the caller's that nobody claims any more, if it is to be deleted, and
// keeps the finalizer on those that are. Deletion is of what is behind it, and comes first: as
// long as the object is there, it is tried again.
func Sync(ctx context.Context, client kubernetes.Interface, volume *v1.PersistentVolume, deletion func(context.Context) error) error {
	deletes := volume.Spec.PersistentVolumeReclaimPolicy == v1.PersistentVolumeReclaimDelete
	marked := slices.Contains(volume.Finalizers, Finalizer)
	switch {
	case deletes && volume.Status.Phase == v1.VolumeReleased && (marked || volume.DeletionTimestamp == nil):
		if err := deletion(ctx); err != nil {
			return fmt.Errorf("delete volume: %w", err)
		}
		if err := remove(ctx, client, volume); err != nil {
			return err
		}
		return mark(ctx, client, volume, false)
	case deletes != marked && (volume.DeletionTimestamp == nil || marked):
		return mark(ctx, client, volume, deletes)
	}
	return nil
}

func remove(ctx context.Context, client kubernetes.Interface, volume *v1.PersistentVolume) error {
	if volume.DeletionTimestamp != nil {
		return nil
	}
	err := client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}})
	if IgnoreMissing(err) != nil {
		return fmt.Errorf("delete volume: %w", err)
	}
	return nil
}

// mark adds or removes the finalizer.
func mark(ctx context.Context, client kubernetes.Interface, volume *v1.PersistentVolume, with bool) error {
	metadata := map[string]any{"uid": volume.UID, "finalizers": []string{Finalizer}}
	if !with {
		delete(metadata, "finalizers")
		metadata["$deleteFromPrimitiveList/finalizers"] = []string{Finalizer}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if IgnoreMissing(err) != nil {
		return fmt.Errorf("finalizer of volume: %w", err)
	}
	return nil
}

// IgnoreMissing is an error, unless it says that there is no such object.
func IgnoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
