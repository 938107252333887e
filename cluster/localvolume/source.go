package localvolume

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifepod/lifepod/node/localdriver"
)

// errPopulator says that somebody else fills the volume: a populator, which binds a volume of its
// own to the claim.
var errPopulator = errors.New("a populator makes the volume")

const snapshotGroup = "snapshot.storage.k8s.io"

var (
	snapshots = schema.GroupVersionResource{Group: snapshotGroup, Version: "v1", Resource: "volumesnapshots"}
	contents  = schema.GroupVersionResource{Group: snapshotGroup, Version: "v1", Resource: "volumesnapshotcontents"}
)

// sourceOf is what the volume is to have in it, nil for nothing. The API server has
// filled in dataSourceRef where dataSource was given.
func (p *provisioning) sourceOf(ctx context.Context) (*csi.VolumeContentSource, error) {
	ref := p.claim.Spec.DataSourceRef
	if ref == nil {
		return nil, nil //nolint:nilnil // most claims have none
	}
	group := ""
	if ref.APIGroup != nil {
		group = *ref.APIGroup
	}
	switch {
	case ref.Namespace != nil && *ref.Namespace != p.claim.Namespace:
		return nil, errors.New("dataSourceRef: a source in another namespace is not supported")
	case group == "" && ref.Kind == "PersistentVolumeClaim":
		return p.clone(ref.Name)
	case group == snapshotGroup && ref.Kind == "VolumeSnapshot":
		return p.restore(ctx, ref.Name)
	}
	return nil, errPopulator
}

func (p *provisioning) clone(name string) (*csi.VolumeContentSource, error) {
	source, err := p.controller.claims.PersistentVolumeClaims(p.claim.Namespace).Get(name)
	if err != nil {
		return nil, fmt.Errorf("source of the volume: %w", err)
	}
	if source.Status.Phase != v1.ClaimBound || source.Spec.VolumeName == "" || source.DeletionTimestamp != nil {
		return nil, fmt.Errorf("source of the volume: claim %q is not bound, or being deleted", name)
	}
	volume, err := p.controller.volumes.Get(source.Spec.VolumeName)
	if err != nil {
		return nil, fmt.Errorf("source of the volume: %w", err)
	}
	if !made(volume) {
		return nil, fmt.Errorf("source of the volume: claim %q has a volume of another driver", name)
	}
	have, want := source.Status.Capacity[v1.ResourceStorage], p.claim.Spec.Resources.Requests[v1.ResourceStorage]
	if want.Cmp(have) < 0 {
		return nil, fmt.Errorf("%s are claimed, but the source of the volume, claim %q, has %s: claim as much or more", want.String(), name, have.String())
	}
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Volume{
		Volume: &csi.VolumeContentSource_VolumeSource{VolumeId: volume.Spec.CSI.VolumeHandle},
	}}, nil
}

func (p *provisioning) restore(ctx context.Context, name string) (*csi.VolumeContentSource, error) {
	snapshot, err := p.controller.Dynamic.Resource(snapshots).Namespace(p.claim.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("source of the volume: %w", err)
	}
	ready, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse")
	bound, _, _ := unstructured.NestedString(snapshot.Object, "status", "boundVolumeSnapshotContentName")
	if !ready || bound == "" || snapshot.GetDeletionTimestamp() != nil {
		return nil, fmt.Errorf("source of the volume: snapshot %q is not ready, or being deleted", name)
	}
	if err := fits(p.claim, snapshot); err != nil {
		return nil, err
	}
	content, err := p.controller.Dynamic.Resource(contents).Get(ctx, bound, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("source of the volume: %w", err)
	}
	driver, _, _ := unstructured.NestedString(content.Object, "spec", "driver")
	owner, _, _ := unstructured.NestedString(content.Object, "spec", "volumeSnapshotRef", "uid")
	handle, _, _ := unstructured.NestedString(content.Object, "status", "snapshotHandle")
	switch {
	case driver != localdriver.Name:
		return nil, fmt.Errorf("source of the volume: snapshot %q is of driver %s", name, driver)
	case owner != string(snapshot.GetUID()) || handle == "":
		return nil, fmt.Errorf("source of the volume: snapshot %q is not bound to %s", name, bound)
	}
	return &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
		Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: handle},
	}}, nil
}

// fits says whether a claim is large enough for a snapshot.
func fits(claim *v1.PersistentVolumeClaim, snapshot *unstructured.Unstructured) error {
	text, _, _ := unstructured.NestedString(snapshot.Object, "status", "restoreSize")
	needs, err := resource.ParseQuantity(text)
	if want := claim.Spec.Resources.Requests[v1.ResourceStorage]; err == nil && want.Cmp(needs) < 0 {
		return fmt.Errorf("%s are claimed, but the source of the volume, snapshot %q, needs %s: claim as much or more", want.String(), snapshot.GetName(), text)
	}
	return nil
}

// sourceID is the ID of a source, "" if there is none.
func sourceID(source *csi.VolumeContentSource) string {
	if id := source.GetSnapshot().GetSnapshotId(); id != "" {
		return id
	}
	return source.GetVolume().GetVolumeId()
}
