package localvolume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"

	"github.com/lifepod/lifepod/cluster/reclaim"
	"github.com/lifepod/lifepod/node/localdriver"
)

// Annotations by which the scheduler, the binder of volumes and provisioners talk.
const (
	selectedNode       = "volume.kubernetes.io/selected-node"
	storageProvisioner = "volume.kubernetes.io/storage-provisioner"
)

// Reasons of events, those of other provisioners.
const (
	failed    = "ProvisioningFailed"
	succeeded = "ProvisioningSucceeded"
)

// errElsewhere says that the node can't have the volume, and that the scheduler has been told so.
var errElsewhere = errors.New("on another node")

// provision makes the volume of a claim that wants one from us.
func (c *controller) provision(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	if !ours(claim.Annotations[storageProvisioner]) || claim.Spec.StorageClassName == nil {
		return nil
	}
	class, err := c.classes.Get(*claim.Spec.StorageClassName)
	if err != nil {
		return reclaim.IgnoreMissing(err) // the binder says so
	}
	late := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if late && claim.Annotations[selectedNode] == "" {
		return nil // the scheduler has not chosen yet
	}
	name, err := (&provisioning{controller: c, claim: claim, class: class, late: late}).make(ctx)
	switch {
	case errors.Is(err, errElsewhere) || errors.Is(err, errPopulator):
		return nil
	case status.Code(err) == codes.Aborted: // a try before this one is under way yet
		return err
	case err != nil:
		c.recorder.Eventf(claim, v1.EventTypeWarning, failed, "failed to provision volume with StorageClass %q: %v", class.Name, shown(err))
		return fmt.Errorf("provision volume of claim: %w", err)
	case name != "":
		c.recorder.Eventf(claim, v1.EventTypeNormal, succeeded, "Successfully provisioned volume %s", name)
	}
	return nil
}

// provisioning is one try to make the volume of a claim.
type provisioning struct {
	controller *controller
	claim      *v1.PersistentVolumeClaim
	class      *storagev1.StorageClass
	late       bool // the scheduler chooses the node
}

// make makes the driver's volume and the PersistentVolume, in this order: who finds the second
// finds the first. The name is empty if it is there already.
func (p *provisioning) make(ctx context.Context) (name string, err error) {
	ref, err := reference.GetReference(scheme.Scheme, p.claim)
	if err != nil {
		return "", err
	}
	name = volumePrefix + string(p.claim.UID)
	end, err := p.controller.making.begin(name)
	if err != nil {
		return "", err
	}
	defer end()
	if _, err := p.controller.volumes.Get(name); err == nil {
		return "", nil // the binder has not seen it yet
	}
	request, err := p.request(ctx, name)
	if err != nil {
		return "", err
	}
	node, err := p.nodeFor(ctx, request)
	if err != nil {
		return "", err
	}
	driver, err := p.controller.drivers.On(node)
	if err != nil {
		return "", err
	}
	call, cancel := context.WithTimeout(ctx, longCall)
	defer cancel()
	answer, err := driver.CreateVolume(call, request)
	if status.Code(err) == codes.ResourceExhausted && p.late {
		return "", p.chooseAgain(ctx, "", fmt.Sprintf("node %s: %v", node, shown(err)))
	}
	if err != nil {
		return "", err
	}
	p.controller.measure.Send()
	_, err = p.controller.Client.CoreV1().PersistentVolumes().Create(ctx, volumeFor(p.claim, p.class, ref, answer.GetVolume()), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create PersistentVolume: %w", err)
	}
	return name, nil
}

// request is what the driver is asked for.
func (p *provisioning) request(ctx context.Context, name string) (*csi.CreateVolumeRequest, error) {
	if err := unsupported(p.claim, p.class); err != nil {
		return nil, err
	}
	source, err := p.sourceOf(ctx)
	if err != nil {
		return nil, err
	}
	size := p.claim.Spec.Resources.Requests[v1.ResourceStorage]
	request := &csi.CreateVolumeRequest{
		Name:                name,
		CapacityRange:       &csi.CapacityRange{RequiredBytes: size.Value()},
		VolumeContentSource: source,
		Parameters:          map[string]string{},
	}
	for key, value := range p.class.Parameters {
		if key != fsType {
			request.Parameters[key] = value
		}
	}
	for _, mode := range p.claim.Spec.AccessModes {
		capability := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: accessModes[mode]}}
		if block(p.claim) {
			capability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		} else {
			capability.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: p.class.Parameters[fsType], MountFlags: p.class.MountOptions}}
		}
		request.VolumeCapabilities = append(request.VolumeCapabilities, capability)
	}
	return request, nil
}

// fsType is the parameter of a class that names the file system.
const fsType = "csi.storage.k8s.io/fstype"

// accessModes are the driver's words for those of claims. It refuses the last two.
var accessModes = map[v1.PersistentVolumeAccessMode]csi.VolumeCapability_AccessMode_Mode{
	v1.ReadWriteOnce:    csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER,
	v1.ReadWriteOncePod: csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER,
	v1.ReadOnlyMany:     csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY,
	v1.ReadWriteMany:    csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER,
}

func block(claim *v1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == v1.PersistentVolumeBlock
}

// unsupported says what of a claim the driver can't do and is not asked for.
func unsupported(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) error {
	switch {
	case claim.Spec.Selector != nil:
		return errors.New("a selector is not supported: it chooses among volumes that exist; leave it out to get a new one")
	case claim.Spec.VolumeAttributesClassName != nil && *claim.Spec.VolumeAttributesClassName != "":
		return fmt.Errorf("volumeAttributesClassName is not supported: volumes of %s have no attributes", localdriver.Name)
	case class.Provisioner == localdriver.Name || class.Provisioner == Folders:
		return nil
	}
	return fmt.Errorf("the StorageClass has the provisioner %s by now", class.Provisioner)
}

// nodeFor is where the volume is to be: where its source is, or where the scheduler wants it,
// or, if it is to be made at once, where most room is.
func (p *provisioning) nodeFor(ctx context.Context, request *csi.CreateVolumeRequest) (string, error) {
	selected := p.claim.Annotations[selectedNode]
	if source := sourceID(request.GetVolumeContentSource()); source != "" {
		return p.nodeOfSource(ctx, source, selected)
	}
	if !p.late {
		return p.roomiest(ctx, request.GetCapacityRange().GetRequiredBytes())
	}
	if n, err := p.controller.csiNodes.Get(selected); err != nil || !hasDriver(n) {
		return "", p.chooseAgain(ctx, "", fmt.Sprintf("node %s was selected, which does not run the driver %s: have the pod run on a node of lifepod, or use a StorageClass of a driver that serves node %s",
			selected, localdriver.Name, selected))
	}
	return selected, nil
}

// nodeOfSource is where the source of the volume is: nothing is copied from one node to another. If the scheduler has
// selected another node, the annotation names the right one from now on: the scheduler gives its choice up, and the
// next try makes the volume, whose node affinity then leads the pod there. Without a node in the annotation, the
// scheduler would select the wrong one again.
func (p *provisioning) nodeOfSource(ctx context.Context, source, selected string) (string, error) {
	holder, err := localdriver.NodeOf(source)
	if err != nil {
		return "", err
	}
	if node, err := p.controller.Informers.Core().V1().Nodes().Lister().Get(holder); err == nil && !allows(p.class, node) {
		return "", fmt.Errorf("the source of the volume is on node %s, which the allowedTopologies of the StorageClass leave out: use a class that allows node %s, as a clone or a restored snapshot is on the node of its source", holder, holder)
	}
	if p.late && selected != holder {
		return "", p.chooseAgain(ctx, holder, fmt.Sprintf("node %s was selected, but the source of the volume is on node %s: a clone or a restored snapshot is on the node of its source; have the pod run on node %s", selected, holder, holder))
	}
	return holder, nil
}

// roomiest is the node that has most room, of those that the class allows.
func (p *provisioning) roomiest(ctx context.Context, bytes int64) (best string, err error) {
	nodes, err := p.controller.csiNodes.List(labels.Everything())
	if err != nil {
		return "", err
	}
	most, last := int64(-1), error(nil)
	for _, n := range nodes {
		node, err := p.controller.Informers.Core().V1().Nodes().Lister().Get(n.Name)
		if err != nil || !hasDriver(n) || !allows(p.class, node) {
			continue
		}
		room, err := p.controller.room(ctx, n.Name)
		if err != nil {
			last = err
		} else if room > most {
			best, most = n.Name, room
		}
	}
	if most < bytes {
		return "", errors.Join(fmt.Errorf("no node has room for %s: the most is %s", quantity(bytes), quantity(max(most, 0))), last)
	}
	return best, nil
}

func quantity(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }

// chooseAgain has the scheduler choose another node, or the one that is given. Once the claim says
// so, the error is errElsewhere.
func (p *provisioning) chooseAgain(ctx context.Context, node, why string) error {
	p.controller.recorder.Eventf(p.claim, v1.EventTypeWarning, failed, "failed to provision volume with StorageClass %q: %s", p.class.Name, why)
	choice := map[string]any{selectedNode: nil}
	if node != "" {
		choice[selectedNode] = node
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": p.claim.ResourceVersion, "annotations": choice}})
	if err == nil {
		_, err = p.controller.Client.CoreV1().PersistentVolumeClaims(p.claim.Namespace).Patch(ctx, p.claim.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // the claim comes again as it is now
		return errElsewhere
	}
	return fmt.Errorf("have the scheduler choose again: %w", err)
}

// shown is an error of a call as people read it.
func shown(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		return fmt.Errorf("%s (%s)", s.Message(), s.Code())
	}
	return err
}
