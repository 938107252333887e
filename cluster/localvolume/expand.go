package localvolume

import (
	"context"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/cluster/reclaim"
)

// infeasible are the codes of a driver's errors that end an expansion: who wants it has to claim
// less, or others have to.
var infeasible = []codes.Code{codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.OutOfRange, codes.ResourceExhausted}

// resizeConditions are those of an expansion.
var resizeConditions = []v1.PersistentVolumeClaimConditionType{
	v1.PersistentVolumeClaimResizing, v1.PersistentVolumeClaimFileSystemResizePending,
	v1.PersistentVolumeClaimControllerResizeError, v1.PersistentVolumeClaimNodeResizeError,
}

// expansion is one try to expand the volume of a claim.
type expansion struct {
	controller *controller
	claim      *v1.PersistentVolumeClaim // as it was written last
	volume     *v1.PersistentVolume
}

// expand lets the driver's volume be larger if its claim says so, and then has the node do the
// rest (KEP-1790). What is under way is finished before a new size is begun.
func (c *controller) expand(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	want, have := claim.Spec.Resources.Requests[v1.ResourceStorage], claim.Status.Capacity[v1.ResourceStorage]
	if claim.Status.Phase != v1.ClaimBound || want.Cmp(have) <= 0 {
		return nil
	}
	volume, err := c.volumes.Get(claim.Spec.VolumeName)
	if err != nil || !made(volume) || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != claim.UID {
		return reclaim.IgnoreMissing(err)
	}
	allocated, begun := claim.Status.AllocatedResources[v1.ResourceStorage]
	switch claim.Status.AllocatedResourceStatuses[v1.ResourceStorage] {
	case v1.PersistentVolumeClaimNodeResizePending, v1.PersistentVolumeClaimNodeResizeInProgress:
		return nil // it is the node's turn
	case v1.PersistentVolumeClaimControllerResizeInProgress, v1.PersistentVolumeClaimNodeResizeInfeasible:
		if begun {
			want = allocated
		}
	}
	x := &expansion{controller: c, claim: claim, volume: volume}
	if !begun || allocated.Cmp(want) != 0 {
		if same, err := x.begin(ctx, want); err != nil || !same {
			return err
		}
	}
	size, err := c.grow(ctx, volume.Spec.CSI.VolumeHandle, want.Value())
	if err != nil {
		return x.failed(ctx, err)
	}
	c.measure.Send()
	return x.finish(ctx, size)
}

// begin says how large the volume is to be; false if the claim has changed meanwhile, and comes
// again.
func (x *expansion) begin(ctx context.Context, want resource.Quantity) (same bool, err error) {
	allocated := x.claim.Status.AllocatedResources.DeepCopy()
	if allocated == nil {
		allocated = v1.ResourceList{}
	}
	allocated[v1.ResourceStorage] = want
	x.claim = x.claim.DeepCopy()
	x.claim.Status.AllocatedResources = allocated
	same, err = x.note(ctx, v1.PersistentVolumeClaimControllerResizeInProgress, v1.PersistentVolumeClaimCondition{Type: v1.PersistentVolumeClaimResizing})
	if same && err == nil {
		x.controller.recorder.Eventf(x.claim, v1.EventTypeNormal, "Resizing", "External resizer is resizing volume %s", x.volume.Name)
	}
	return same, err
}

// finish says how large the volume is, and that it is the node's turn.
func (x *expansion) finish(ctx context.Context, bytes int64) error {
	if err := x.setCapacity(ctx, bytes); err != nil {
		return err
	}
	same, err := x.note(ctx, v1.PersistentVolumeClaimNodeResizePending, v1.PersistentVolumeClaimCondition{
		Type: v1.PersistentVolumeClaimFileSystemResizePending, Message: "Waiting for the node to finish the resize of the volume.",
	})
	if same && err == nil {
		x.controller.recorder.Event(x.claim, v1.EventTypeNormal, "FileSystemResizeRequired", "Require file system resize of volume on node")
	}
	return err
}

// grow is how large the driver's volume is then, in bytes.
func (c *controller) grow(ctx context.Context, id string, bytes int64) (int64, error) {
	driver, err := c.drivers.Holding(id)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, shortCall)
	defer cancel()
	answer, err := driver.ControllerExpandVolume(ctx, &csi.ControllerExpandVolumeRequest{VolumeId: id, CapacityRange: &csi.CapacityRange{RequiredBytes: bytes}})
	return answer.GetCapacityBytes(), err
}

// failed says why a volume could not be expanded. What can't succeed may be taken back.
func (x *expansion) failed(ctx context.Context, failure error) error {
	why := fmt.Errorf("resize volume %q: %w", x.volume.Name, shown(failure))
	x.controller.recorder.Event(x.claim, v1.EventTypeWarning, "VolumeResizeFailed", why.Error())
	if slices.Contains(infeasible, status.Code(failure)) {
		_, err := x.note(ctx, v1.PersistentVolumeClaimControllerResizeInfeasible, v1.PersistentVolumeClaimCondition{
			Type: v1.PersistentVolumeClaimControllerResizeError, Message: "failed to expand pvc with " + shown(failure).Error(),
		})
		if err != nil {
			return err
		}
	}
	return why
}

// note writes how far the expansion has come into the status of the claim; false if that has changed
// meanwhile, and comes again.
func (x *expansion) note(ctx context.Context, how v1.ClaimResourceStatus, condition v1.PersistentVolumeClaimCondition) (same bool, err error) {
	next := x.claim.DeepCopy()
	if next.Status.AllocatedResourceStatuses == nil {
		next.Status.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{}
	}
	next.Status.AllocatedResourceStatuses[v1.ResourceStorage] = how
	condition.Status, condition.LastTransitionTime = v1.ConditionTrue, metav1.Now()
	known := func(o v1.PersistentVolumeClaimCondition) bool {
		return o.Type == condition.Type && o.Message == condition.Message
	}
	if !slices.ContainsFunc(next.Status.Conditions, known) {
		next.Status.Conditions = append(slices.DeleteFunc(next.Status.Conditions, func(o v1.PersistentVolumeClaimCondition) bool {
			return slices.Contains(resizeConditions, o.Type)
		}), condition)
	}
	next, err = x.controller.Client.CoreV1().PersistentVolumeClaims(next.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("status of claim: %w", err)
	}
	x.claim = next
	return true, nil
}

// setCapacity says in the PersistentVolume how large it is.
func (x *expansion) setCapacity(ctx context.Context, bytes int64) error {
	have := x.volume.Spec.Capacity[v1.ResourceStorage]
	if have.Value() >= bytes {
		return nil
	}
	patch := fmt.Sprintf(`{"spec":{"capacity":{"storage":%q}}}`, quantity(bytes))
	_, err := x.controller.Client.CoreV1().PersistentVolumes().Patch(ctx, x.volume.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("capacity of volume: %w", err)
	}
	return nil
}
