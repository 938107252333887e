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
)

// infeasible are the codes of a driver's errors that end an expansion: who wants it has to claim
// less, or others have to.
var infeasible = []codes.Code{codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.OutOfRange, codes.ResourceExhausted}

// resizeConditions are those of an expansion.
var resizeConditions = []v1.PersistentVolumeClaimConditionType{
	v1.PersistentVolumeClaimResizing, v1.PersistentVolumeClaimFileSystemResizePending,
	v1.PersistentVolumeClaimControllerResizeError, v1.PersistentVolumeClaimNodeResizeError,
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
		return ignoreMissing(err)
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
	if !begun || allocated.Cmp(want) != 0 {
		claim, err = c.note(ctx, claim, v1.PersistentVolumeClaimControllerResizeInProgress, &want, v1.PersistentVolumeClaimCondition{Type: v1.PersistentVolumeClaimResizing})
		if err != nil || claim == nil {
			return err
		}
		c.recorder.Eventf(claim, v1.EventTypeNormal, "Resizing", "External resizer is resizing volume %s", volume.Name)
	}
	size, err := c.grow(ctx, volume.Spec.CSI.VolumeHandle, want.Value())
	if err != nil {
		return c.notGrown(ctx, claim, volume, err)
	}
	c.measureSoon()
	if err := c.setCapacity(ctx, volume, size); err != nil {
		return err
	}
	told, err := c.note(ctx, claim, v1.PersistentVolumeClaimNodeResizePending, nil, v1.PersistentVolumeClaimCondition{
		Type: v1.PersistentVolumeClaimFileSystemResizePending, Message: "Waiting for the node to finish the resize of the volume.",
	})
	if err != nil || told == nil {
		return err
	}
	c.recorder.Event(claim, v1.EventTypeNormal, "FileSystemResizeRequired", "Require file system resize of volume on node")
	return nil
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

// notGrown says why a volume could not be expanded. What can't succeed may be taken back.
func (c *controller) notGrown(ctx context.Context, claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume, failure error) error {
	why := fmt.Errorf("resize volume %q: %w", volume.Name, shown(failure))
	c.recorder.Event(claim, v1.EventTypeWarning, "VolumeResizeFailed", why.Error())
	if slices.Contains(infeasible, status.Code(failure)) {
		_, err := c.note(ctx, claim, v1.PersistentVolumeClaimControllerResizeInfeasible, nil, v1.PersistentVolumeClaimCondition{
			Type: v1.PersistentVolumeClaimControllerResizeError, Message: "failed to expand pvc with " + shown(failure).Error(),
		})
		if err != nil {
			return err
		}
	}
	return why
}

// note writes how far an expansion has come into the status of a claim, nil if the claim has
// changed meanwhile: it comes again then.
func (c *controller) note(ctx context.Context, claim *v1.PersistentVolumeClaim, how v1.ClaimResourceStatus, size *resource.Quantity, condition v1.PersistentVolumeClaimCondition) (*v1.PersistentVolumeClaim, error) {
	next := claim.DeepCopy()
	if next.Status.AllocatedResourceStatuses == nil {
		next.Status.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{}
	}
	next.Status.AllocatedResourceStatuses[v1.ResourceStorage] = how
	if size != nil {
		if next.Status.AllocatedResources == nil {
			next.Status.AllocatedResources = v1.ResourceList{}
		}
		next.Status.AllocatedResources[v1.ResourceStorage] = *size
	}
	condition.Status, condition.LastTransitionTime = v1.ConditionTrue, metav1.Now()
	same := func(o v1.PersistentVolumeClaimCondition) bool {
		return o.Type == condition.Type && o.Message == condition.Message
	}
	if !slices.ContainsFunc(next.Status.Conditions, same) {
		next.Status.Conditions = append(slices.DeleteFunc(next.Status.Conditions, func(o v1.PersistentVolumeClaimCondition) bool {
			return slices.Contains(resizeConditions, o.Type)
		}), condition)
	}
	next, err := c.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // as it says
	}
	if err != nil {
		return nil, fmt.Errorf("status of claim: %w", err)
	}
	return next, nil
}

// setCapacity says in the PersistentVolume how large it is.
func (c *controller) setCapacity(ctx context.Context, volume *v1.PersistentVolume, bytes int64) error {
	have := volume.Spec.Capacity[v1.ResourceStorage]
	if have.Value() >= bytes {
		return nil
	}
	patch := fmt.Sprintf(`{"spec":{"capacity":{"storage":%q}}}`, quantity(bytes))
	_, err := c.Client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("capacity of volume: %w", err)
	}
	return nil
}
