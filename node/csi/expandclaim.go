package csi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// expanded is the reason of the event that a volume was.
const expanded = "FileSystemResizeSuccessful"

// failed tells the claim of a failure that is final. One that only means that the driver
// does not expand what is in use holds up nothing.
func (e *expansion) failed(ctx context.Context, err error) error {
	failure := fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
	infeasible := slices.Contains([]codes.Code{codes.InvalidArgument, codes.OutOfRange, codes.NotFound}, status.Code(err))
	if infeasible {
		failure = fmt.Errorf("Expander.NodeExpand failed to expand the volume %w", err)
	}
	asked := e.claim.Spec.Resources.Requests[v1.ResourceStorage]
	if asked.Cmp(e.size) != 0 && slices.ContainsFunc(e.claim.Status.Conditions, isNodeError) {
		infeasible = true // it has failed before, and somebody wants another size now
	}
	if Final(err) && !e.oldController {
		marked := e.mark(ctx, func(s *v1.PersistentVolumeClaimStatus) {
			if infeasible {
				setResizing(s, v1.PersistentVolumeClaimNodeResizeInfeasible)
			}
			setResizeError(s, "failed to expand pvc with "+failure.Error())
		})
		failure = errors.Join(failure, marked)
	}
	if status.Code(err) == codes.FailedPrecondition {
		return nil
	}
	return failure
}

// mark changes the claim's status, unless somebody else has meanwhile.
func (e *expansion) mark(ctx context.Context, change func(*v1.PersistentVolumeClaimStatus)) error {
	wanted := e.claim.DeepCopy()
	if wanted.Status.Capacity == nil {
		wanted.Status.Capacity = v1.ResourceList{}
	}
	change(&wanted.Status)
	before, err := json.Marshal(e.claim)
	if err != nil {
		return err
	}
	after, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, v1.PersistentVolumeClaim{})
	if err != nil {
		return err
	}
	if string(patch) == "{}" {
		return nil
	}
	marked, err := e.claims.Patch(ctx, e.claim.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("patchPVCStatus failed to patch PVC %q: %w", e.claim.Name, err)
	}
	e.claim = marked
	return nil
}

func setResizing(s *v1.PersistentVolumeClaimStatus, to v1.ClaimResourceStatus) {
	if s.AllocatedResourceStatuses == nil {
		s.AllocatedResourceStatuses = map[v1.ResourceName]v1.ClaimResourceStatus{}
	}
	s.AllocatedResourceStatuses[v1.ResourceStorage] = to
}

func setResizeError(s *v1.PersistentVolumeClaimStatus, message string) {
	if slices.ContainsFunc(s.Conditions, isNodeError) {
		return // the first one stays, as in Kubernetes
	}
	s.Conditions = append(s.Conditions, v1.PersistentVolumeClaimCondition{
		Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now(), Message: message,
	})
}

func isNodeError(c v1.PersistentVolumeClaimCondition) bool {
	return c.Type == v1.PersistentVolumeClaimNodeResizeError
}

func setExpanded(s *v1.PersistentVolumeClaimStatus, to resource.Quantity) {
	s.Capacity[v1.ResourceStorage] = to
	delete(s.AllocatedResourceStatuses, v1.ResourceStorage)
	s.Conditions = slices.DeleteFunc(s.Conditions, isOfResize)
}

func isOfResize(c v1.PersistentVolumeClaimCondition) bool {
	return slices.Contains([]v1.PersistentVolumeClaimConditionType{
		v1.PersistentVolumeClaimResizing, v1.PersistentVolumeClaimFileSystemResizePending,
		v1.PersistentVolumeClaimControllerResizeError, v1.PersistentVolumeClaimNodeResizeError,
	}, c.Type)
}

// tell tells pod and claim.
func (e *expansion) tell(reason, message string) {
	kind := v1.EventTypeWarning
	if reason == expanded {
		kind = v1.EventTypeNormal
	}
	claim := v1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: e.claim.Namespace, Name: e.claim.Name, UID: e.claim.UID}
	for _, object := range []v1.ObjectReference{e.of.want.podReference(), claim} {
		e.of.on.config.Event(object, kind, reason, message)
	}
}
