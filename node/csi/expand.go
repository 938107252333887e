package csi

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// notRequired is the annotation of a claim that nodes need not expand.
const notRequired = "volume.kubernetes.io/node-expansion-not-required"

// expansion is a claim whose volume the node may have to expand.
type expansion struct {
	of     *publishing
	claims typedv1.PersistentVolumeClaimInterface
	claim  *v1.PersistentVolumeClaim
	had    resource.Quantity // the size that the volume has on this node
	size   resource.Quantity // that it is to have
	// expandedElsewhere: another node has expanded the volume, and its claim shows that.
	expandedElsewhere bool
	// oldController: the claim's controller is of the time before status.allocatedResources.
	oldController bool
}

// expands says whether the volume's claim is looked at for a size to expand it to.
func expands(p *publishing) bool { return p.can.Expand && !p.want.inline && p.want.claim != nil }

// expandsInUse says whether it is looked at again and again.
func expandsInUse(p *publishing) bool { return expands(p) && !p.want.readOnly }

func expandInUse(ctx context.Context, p *publishing) error {
	if !expandsInUse(p) {
		return nil
	}
	p.inUse = true
	return expand(ctx, p, askClaim(ctx, p))
}

// claimAsked is what the API server says of a volume's claim; no expansion: it is another one of its name.
type claimAsked struct {
	expansion *expansion
	err       error
}

// askClaim asks for the volume's claim, if it is looked at. The answer comes when there is one, or ctx ends.
func askClaim(ctx context.Context, p *publishing) <-chan claimAsked {
	answer := make(chan claimAsked, 1)
	if expands(p) {
		go func() {
			e, err := newExpansion(ctx, p)
			answer <- claimAsked{e, err}
		}()
	}
	return answer
}

// expand has the driver expand the volume, if its claim waits for that, or if another node has and
// this one has not (A-CSI-15).
func expand(ctx context.Context, p *publishing, claim <-chan claimAsked) error {
	if !expands(p) {
		return nil
	}
	asked := <-claim
	e, err := asked.expansion, asked.err
	if err != nil || e == nil {
		return err
	}
	is, err := e.isDue(ctx)
	if err == nil && is {
		began := time.Now()
		err = e.run(ctx)
		if p.inUse {
			p.on.config.Operation(ended(p.want.driver, "volume_fs_resize", began, err))
		}
	}
	if err == nil {
		p.on.sizes.set(p.want.key(), e.had)
	}
	return err
}

// newExpansion asks for the claim; nil: it is another one of its name.
func newExpansion(ctx context.Context, p *publishing) (*expansion, error) {
	ref := p.want.claim
	e := &expansion{of: p, claims: p.on.config.Client.CoreV1().PersistentVolumeClaims(ref.Namespace)}
	var err error
	if e.claim, err = e.claims.Get(ctx, ref.Name, metav1.GetOptions{}); err != nil {
		return nil, fmt.Errorf("mountVolume.NodeExpandVolume get PVC failed : %w", err)
	}
	if e.claim.UID != ref.UID {
		return nil, nil
	}
	e.had = p.on.sizes.of(p.want, p.recordDir())
	if e.had.IsZero() { // what the pod gets has the claim's size
		e.had = e.capacity()
	}
	return e, nil
}

func (e *expansion) capacity() resource.Quantity { return e.claim.Status.Capacity[v1.ResourceStorage] }

// isDue says whether the node has to expand the volume, and to which size.
func (e *expansion) isDue(ctx context.Context) (bool, error) {
	capacity := e.capacity()
	switch e.claim.Status.AllocatedResourceStatuses[v1.ResourceStorage] {
	case v1.PersistentVolumeClaimNodeResizePending, v1.PersistentVolumeClaimNodeResizeInProgress:
		e.size = e.claim.Status.AllocatedResources[v1.ResourceStorage]
		return true, nil
	case "":
	default:
		return false, nil
	}
	if e.claim.Status.AllocatedResources != nil {
		e.size, e.expandedElsewhere = e.claim.Status.AllocatedResources[v1.ResourceStorage], true
		if capacity.Cmp(e.size) < 0 || e.size.Cmp(e.had) <= 0 {
			return false, nil
		}
		if !slices.Contains(e.claim.Spec.AccessModes, v1.ReadWriteMany) || metav1.HasAnnotation(e.claim.ObjectMeta, notRequired) {
			e.had = e.size // the controller has done all of it
			return false, nil
		}
		return true, nil
	}
	e.size, e.oldController = capacity, true
	if asked := e.claim.Spec.Resources.Requests[v1.ResourceStorage]; asked.Cmp(capacity) > 0 {
		bound, err := e.of.on.config.Client.CoreV1().PersistentVolumes().Get(ctx, e.of.want.name, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("mountVolume.NodeExpandVolume get PV failed : %w", err)
		}
		e.size = bound.Spec.Capacity[v1.ResourceStorage]
	}
	return e.size.Cmp(e.had) > 0, nil
}

func (e *expansion) run(ctx context.Context) error {
	p := e.of
	if p.want.readOnly {
		e.tell("FileSystemResizeFailed", fmt.Sprintf("MountVolume.NodeExpandVolume failed for volume %q requested read-only file system", p.want.name))
		return nil
	}
	if !e.expandedElsewhere && !e.oldController {
		err := e.mark(ctx, func(s *v1.PersistentVolumeClaimStatus) { setResizing(s, v1.PersistentVolumeClaimNodeResizeInProgress) })
		if err != nil {
			return err
		}
	}
	if err := e.call(ctx); err != nil {
		return e.failed(ctx, err)
	}
	e.tell(expanded, fmt.Sprintf("MountVolume.NodeExpandVolume succeeded for volume %q %s", p.want.name, p.on.config.Node))
	e.had = e.size
	if capacity := e.capacity(); e.expandedElsewhere || e.oldController && capacity.Cmp(e.size) >= 0 {
		return nil
	}
	if err := e.mark(ctx, func(s *v1.PersistentVolumeClaimStatus) { setExpanded(s, e.size) }); err != nil {
		return fmt.Errorf("mountVolume.NodeExpandVolume update pvc status failed: %w", err)
	}
	return nil
}

func (e *expansion) call(ctx context.Context) error {
	p := e.of
	secrets, err := secretOf(ctx, p.on.config.Client, "NodeExpandSecretRef", p.want.secrets.expand)
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
	_, err = p.driver.node().NodeExpandVolume(ctx, request)
	return err
}
