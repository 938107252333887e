package csi

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// migrated are the volume plugins that Kubernetes has no more, whose volumes CSI drivers serve:
// the cluster's controllers want to know that the node knows of it.
const migrated = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder," +
	"kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"

// drivers are those of a CSINode.
type drivers []storagev1.CSINodeDriver

// without leaves a driver out.
func (d drivers) without(name string) drivers {
	return slices.DeleteFunc(slices.Clone(d), func(one storagev1.CSINodeDriver) bool { return one.Name == name })
}

// with has what a driver says now.
func (d drivers) with(name string, about *DriverOnNode) drivers {
	now := storagev1.CSINodeDriver{Name: name, NodeID: about.NodeID, TopologyKeys: slices.Sorted(maps.Keys(about.Topology))}
	if about.MaxVolumes > 0 {
		now.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(min(about.MaxVolumes, math.MaxInt32)))}
	}
	if i := slices.IndexFunc(d, func(one storagev1.CSINodeDriver) bool { return one.Name == name }); i >= 0 {
		d = slices.Clone(d)
		d[i] = now
		return d
	}
	return append(slices.Clone(d), now)
}

// editCSINode changes the drivers of this node's CSINode, and makes it if there is none.
func (a nodeAPI) editCSINode(ctx context.Context, node types.UID, change func(drivers) drivers) error {
	return edit(ctx, func(ctx context.Context) error {
		nodes := a.client.StorageV1().CSINodes()
		now, err := a.ownCSINode(ctx, node)
		if err != nil {
			return err
		}
		if now == nil {
			fresh := a.newCSINode(node)
			fresh.Spec.Drivers = change(fresh.Spec.Drivers)
			_, err = nodes.Create(ctx, fresh, metav1.CreateOptions{})
			return err
		}
		wanted := now.DeepCopy()
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, v1.MigratedPluginsAnnotationKey, migrated)
		wanted.Spec.Drivers = change(now.Spec.Drivers)
		if apiequality.Semantic.DeepEqual(wanted, now) {
			return nil
		}
		_, err = nodes.Update(ctx, wanted, metav1.UpdateOptions{})
		return err
	})
}

// ownCSINode is the one that there is, or nil. That of a former Node of this name goes: the
// garbage collector is about to remove it anyway.
func (a nodeAPI) ownCSINode(ctx context.Context, node types.UID) (*storagev1.CSINode, error) {
	nodes := a.client.StorageV1().CSINodes()
	now, err := nodes.Get(ctx, a.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	isOurs := func(o metav1.OwnerReference) bool { return o.Kind == "Node" && o.Name == a.name && o.UID == node }
	if err != nil || slices.ContainsFunc(now.OwnerReferences, isOurs) {
		return now, err
	}
	err = nodes.Delete(ctx, a.name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(now.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("error deleting existing CSINode %q: %w", a.name, err)
	}
	return nil, nil
}

func (a nodeAPI) newCSINode(node types.UID) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.name, Annotations: map[string]string{v1.MigratedPluginsAnnotationKey: migrated},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: a.name, UID: node}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: drivers{}},
	}
}
