package localvolume

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"
)

// Annotations by which the scheduler, the binder of volumes and provisioners talk.
const (
	selectedNode       = "volume.kubernetes.io/selected-node"
	storageProvisioner = "volume.kubernetes.io/storage-provisioner"
	provisionedBy      = "pv.kubernetes.io/provisioned-by"
)

// Reasons of events, those of other provisioners.
const (
	failed    = "ProvisioningFailed"
	succeeded = "ProvisioningSucceeded"
)

// syncClaim makes the volume of a claim that wants one from us.
func (p *provisioner) syncClaim(ctx context.Context, i item) error {
	claim, err := p.claims.PersistentVolumeClaims(i.namespace).Get(i.name)
	if err != nil || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || claim.Annotations[storageProvisioner] != Provisioner || claim.Spec.StorageClassName == nil {
		return ignoreMissing(err)
	}
	class, err := p.classes.Get(*claim.Spec.StorageClassName)
	if err != nil {
		return ignoreMissing(err) // the binder says so
	}
	node := claim.Annotations[selectedNode]
	late := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	switch {
	case late && node == "":
		return nil // the scheduler has not chosen yet
	case late && node != p.Node:
		return p.elsewhere(ctx, claim, class, node)
	}
	volume, err := p.provision(ctx, claim, class)
	if err != nil {
		p.recorder.Eventf(claim, v1.EventTypeWarning, failed, "failed to provision volume with StorageClass %q: %v", class.Name, err)
		return fmt.Errorf("provision volume of claim: %w", err)
	}
	if volume != "" {
		p.recorder.Eventf(claim, v1.EventTypeNormal, succeeded, "Successfully provisioned volume %s", volume)
	}
	return nil
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// elsewhere refuses a claim whose pod is to run on a node without folders of ours,
// and has the scheduler choose again.
func (p *provisioner) elsewhere(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, node string) error {
	if serves(class, node) {
		return nil // its own lifepod provisions there
	}
	p.recorder.Eventf(claim, v1.EventTypeWarning, failed,
		"failed to provision volume with StorageClass %q: node %s was selected, but local folders are made on %s only: have the pod run there (a nodeSelector, or allowedTopologies of the StorageClass), or use a StorageClass of a CSI driver that serves node %s",
		class.Name, node, p.Node, node)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion,
		"annotations":     map[string]any{selectedNode: nil},
	}})
	if err == nil {
		_, err = p.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if apierrors.IsConflict(err) {
		return nil // we will see what it is now
	}
	return ignoreMissing(err)
}

// provision makes folder and volume, in this order: who finds the volume finds the
// folder. The name is empty if the volume is there already.
func (p *provisioner) provision(ctx context.Context, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) (name string, err error) {
	ref, err := reference.GetReference(scheme.Scheme, claim)
	if err != nil {
		return "", err
	}
	if _, err := p.volumes.Get(volumeName(ref)); err == nil {
		return "", nil // the binder has not seen it yet
	}
	if err := unsupported(claim, class); err != nil {
		return "", err
	}
	if err := tooLarge(claim, p.Dir); err != nil {
		return "", err
	}
	path, err := makeFolder(p.Dir, folderName(ref))
	if err != nil {
		return "", fmt.Errorf("make its folder: %w", err)
	}
	_, err = p.Client.CoreV1().PersistentVolumes().Create(ctx, p.volume(claim, class, ref, path), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create PersistentVolume: %w", err)
	}
	return volumeName(ref), nil
}
