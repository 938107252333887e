package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"
)

const claimProtection = "kubernetes.io/pvc-protection"

// PersistentVolume is the volume that the claim of a pod's volume is bound to: a
// persistentVolumeClaim, or the claim made for an ephemeral volume. The Node
// authorizer lets a node get both but not watch them, so they are asked for each
// time; a claim that is not bound yet is an error, and the caller asks again.
func (o *Objects) PersistentVolume(ctx context.Context, pod *v1.Pod, v *v1.Volume) (*v1.PersistentVolume, error) {
	name := ephemeral.VolumeClaimName(pod, v)
	if v.PersistentVolumeClaim != nil {
		name = v.PersistentVolumeClaim.ClaimName
	}
	claim, err := o.boundClaim(ctx, pod.Namespace, name)
	if err == nil && v.PersistentVolumeClaim == nil {
		if err := ephemeral.VolumeIsForPod(pod, claim); err != nil {
			return nil, err
		}
	}
	var bound *v1.PersistentVolume
	if err == nil {
		bound, err = o.volumeOf(ctx, claim)
	}
	if err != nil {
		return nil, fmt.Errorf("error processing PVC %s/%s: %w", pod.Namespace, name, err)
	}
	return migrated(bound)
}

func (o *Objects) boundClaim(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error) {
	claim, err := soon(ctx, func(ctx context.Context) (*v1.PersistentVolumeClaim, error) {
		return o.options.Client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to fetch PVC from API server: %w", err)
	case claim.DeletionTimestamp != nil && !slices.Contains(claim.Finalizers, claimProtection):
		return nil, errors.New("PVC is being deleted")
	case claim.Status.Phase != v1.ClaimBound:
		return nil, errors.New("PVC is not bound")
	case claim.Spec.VolumeName == "":
		return nil, errors.New("PVC has empty pvc.Spec.VolumeName")
	}
	return claim, nil
}

func (o *Objects) volumeOf(ctx context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolume, error) {
	name := claim.Spec.VolumeName
	bound, err := soon(ctx, func(ctx context.Context) (*v1.PersistentVolume, error) {
		return o.options.Client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("failed to fetch PV %s from API server: %w", name, err)
	case bound.Spec.ClaimRef == nil:
		return nil, fmt.Errorf("found PV object %s but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim", name)
	case bound.Spec.ClaimRef.UID != claim.UID:
		return nil, fmt.Errorf("found PV object %s but its pv.Spec.ClaimRef.UID %s does not point to claim.UID %s", name, bound.Spec.ClaimRef.UID, claim.UID)
	}
	return bound, nil
}

// Reachable says whether this node is one that the volume may be used on.
func (o *Objects) Reachable(bound *v1.PersistentVolume) error {
	if bound.Spec.NodeAffinity == nil {
		return nil
	}
	labels, err := o.options.NodeLabels()
	if err != nil {
		return err
	}
	return volume.CheckNodeAffinity(bound, labels)
}
