package csi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/lifepod/lifepod/node/csidriver"
)

// expanded is the reason of the event that a volume was.
const expanded = "FileSystemResizeSuccessful"

// expansion is a claim whose volume the node has to expand.
type expansion struct {
	of     *publishing
	claims typedv1.PersistentVolumeClaimInterface
	claim  *v1.PersistentVolumeClaim
	size   resource.Quantity
}

// expands says whether the volume's claim is looked at for a size to expand it to.
func expands(p *publishing) bool { return p.can.Expand && !p.want.inline && p.want.claim != nil }

// expand has the driver expand the volume, if its claim waits for that (A-CSI-15).
func expand(ctx context.Context, p *publishing) error {
	if !expands(p) {
		return nil
	}
	e, err := pendingExpansion(ctx, p)
	if err != nil || e == nil {
		return err
	}
	if p.want.readOnly {
		e.tell("FileSystemResizeFailed", fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", p.want.name))
		return nil
	}
	if err := e.mark(ctx, func(s *v1.PersistentVolumeClaimStatus) { setResizing(s, v1.PersistentVolumeClaimNodeResizeInProgress) }); err != nil {
		return err
	}
	if err := e.call(ctx); err != nil {
		return e.failed(ctx, err)
	}
	e.tell(expanded, fmt.Sprintf("MountVolume.NodeExpandVolume succeeded for volume %q %s", p.want.name, p.on.config.Node))
	err = e.mark(ctx, func(s *v1.PersistentVolumeClaimStatus) {
		s.Capacity[v1.ResourceStorage] = e.size
		delete(s.AllocatedResourceStatuses, v1.ResourceStorage)
		s.Conditions = slices.DeleteFunc(s.Conditions, isOfResize)
	})
	if err != nil {
		return fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
	}
	return nil
}

// pendingExpansion asks the API server; nil: the claim waits for none.
func pendingExpansion(ctx context.Context, p *publishing) (*expansion, error) {
	ref := p.want.claim
	e := &expansion{of: p, claims: p.on.config.Client.CoreV1().PersistentVolumeClaims(ref.Namespace)}
	var err error
	if e.claim, err = e.claims.Get(ctx, ref.Name, metav1.GetOptions{}); err != nil {
		return nil, fmt.Errorf("mountVolume.NodeExpandVolume get PVC failed : %w", err)
	}
	if e.claim.UID != ref.UID {
		return nil, nil
	}
	switch e.claim.Status.AllocatedResourceStatuses[v1.ResourceStorage] {
	case v1.PersistentVolumeClaimNodeResizePending, v1.PersistentVolumeClaimNodeResizeInProgress:
		e.size = e.claim.Status.AllocatedResources[v1.ResourceStorage]
		return e, nil
	}
	return nil, nil
}

func (e *expansion) call(ctx context.Context) error {
	p := e.of
	secrets, err := secretOf(ctx, p.on.config.Client, "NodeExpandSecretRef", p.want.expandSecret)
	if err != nil {
		return err
	}
	request := &csi.NodeExpandVolumeRequest{
		VolumeId: p.want.handle, VolumePath: p.path(), CapacityRange: &csi.CapacityRange{RequiredBytes: e.size.Value()},
		VolumeCapability: p.capability(), Secrets: secrets,
	}
	if p.can.StageUnstage {
		request.StagingTargetPath = p.stagingPath()
	}
	_, err = p.driver.Expand(ctx, request)
	return err
}

// failed tells the claim of a failure that is final. One that only means that the driver
// does not expand what is in use holds up nothing.
func (e *expansion) failed(ctx context.Context, err error) error {
	failure := fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
	infeasible := slices.Contains([]codes.Code{codes.InvalidArgument, codes.OutOfRange, codes.NotFound}, status.Code(err))
	if infeasible {
		failure = fmt.Errorf("Expander.NodeExpand failed to expand the volume %w", err)
	}
	if csidriver.Final(err) {
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
	is := func(c v1.PersistentVolumeClaimCondition) bool {
		return c.Type == v1.PersistentVolumeClaimNodeResizeError
	}
	if slices.ContainsFunc(s.Conditions, is) {
		return // the first one stays, as in Kubernetes
	}
	s.Conditions = append(s.Conditions, v1.PersistentVolumeClaimCondition{
		Type: v1.PersistentVolumeClaimNodeResizeError, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now(), Message: message,
	})
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
