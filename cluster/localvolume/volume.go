package localvolume

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/cluster/reclaim"
	"github.com/lifepod/lifepod/node/localdriver"
)

// patience is how often a volume that is in use yet is tried to be deleted before people are told:
// the node unstages it only after its pod has gone.
const patience = 5

// volumeFor is the PersistentVolume of what the driver has made.
func volumeFor(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, ref *v1.ObjectReference, volume *csi.Volume) *v1.PersistentVolume {
	policy, mode := v1.PersistentVolumeReclaimDelete, v1.PersistentVolumeFilesystem
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	source := &v1.CSIPersistentVolumeSource{Driver: localdriver.Name, VolumeHandle: volume.GetVolumeId(), VolumeAttributes: volume.GetVolumeContext()}
	if block(claim) {
		mode = v1.PersistentVolumeBlock
	} else {
		source.FSType = "ext4"
	}
	made := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumePrefix + string(claim.UID), Annotations: map[string]string{reclaim.ProvisionedBy: localdriver.Name}},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(volume.GetCapacityBytes(), resource.BinarySI)},
			PersistentVolumeSource:        v1.PersistentVolumeSource{CSI: source},
			AccessModes:                   claim.Spec.AccessModes,
			ClaimRef:                      ref,
			PersistentVolumeReclaimPolicy: policy,
			StorageClassName:              class.Name,
			MountOptions:                  class.MountOptions,
			VolumeMode:                    &mode,
			NodeAffinity:                  affinity(volume.GetAccessibleTopology()),
		},
	}
	if policy == v1.PersistentVolumeReclaimDelete {
		made.Finalizers = []string{reclaim.Finalizer}
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

// syncVolume deletes a volume that nobody claims any more, and the driver's. One that an
// administrator has made for a volume of the driver is theirs.
func (c *controller) syncVolume(ctx context.Context, i item) error {
	volume, err := c.volumes.Get(i.name)
	if err != nil || !made(volume) || volume.Annotations[reclaim.ProvisionedBy] != localdriver.Name {
		return reclaim.IgnoreMissing(err)
	}
	return reclaim.Sync(ctx, c.Client, volume, func(ctx context.Context) error {
		err := c.deleteVolume(ctx, volume.Spec.CSI.VolumeHandle)
		if err == nil {
			c.measure.Send()
			return nil
		}
		if used := status.Code(err) == codes.FailedPrecondition || status.Code(err) == codes.Aborted; !used || c.queue.NumRequeues(i) >= patience {
			c.recorder.Event(volume, v1.EventTypeWarning, "VolumeFailedDelete", shown(err).Error())
		}
		return shown(err)
	})
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
