package csi

import (
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

var expanding = csi.NodeServiceCapability_RPC_EXPAND_VOLUME

// growing is a claim of 1 MiB that its controller has expanded to 2, and its volume.
func growing(state v1.ClaimResourceStatus) (*v1.PersistentVolumeClaim, *v1.PersistentVolume) {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "uid-data"}}
	claim.Status = v1.PersistentVolumeClaimStatus{
		Capacity:                  v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Mi")},
		AllocatedResources:        v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Mi")},
		AllocatedResourceStatuses: map[v1.ResourceName]v1.ClaimResourceStatus{v1.ResourceStorage: state},
		Conditions:                []v1.PersistentVolumeClaimCondition{{Type: v1.PersistentVolumeClaimFileSystemResizePending, Status: v1.ConditionTrue}},
	}
	bound := persistent("pv")
	bound.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data", UID: "uid-data"}
	return claim, bound
}

func (m *machine) claim() v1.PersistentVolumeClaimStatus {
	m.t.Helper()
	claim := assert.Get(m.config.Client.CoreV1().PersistentVolumeClaims("default").Get(m.t.Context(), "data", metav1.GetOptions{})).Must(m.t)
	return claim.Status
}

func (m *machine) wantClaim(capacity string, state v1.ClaimResourceStatus, conditions ...string) {
	m.t.Helper()
	got := m.claim()
	texts := []string{}
	for _, c := range got.Conditions {
		texts = append(texts, strings.TrimSpace(string(c.Type)+" "+c.Message))
	}
	if size := got.Capacity[v1.ResourceStorage]; size.String() != capacity || got.AllocatedResourceStatuses[v1.ResourceStorage] != state {
		m.t.Errorf("the claim has %s, %s; want %s, %s", size.String(), got.AllocatedResourceStatuses[v1.ResourceStorage], capacity, state)
	}
	diff := cmp.Diff(conditions, texts)
	assert.True(m.t, diff == "" || len(conditions)+len(texts) == 0, "conditions of the claim (-want +got):\n%s", diff)
}

func (m *machine) wantEvents(want ...string) {
	m.t.Helper()
	assert.Deep(m.t, "events", want, m.events)
	m.events = nil
}

const (
	podEvent   = `Pod Normal FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv" n`
	claimEvent = `PersistentVolumeClaim Normal FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv" n`
)

// TestExpandsWhenMounted: a volume that was expanded while nobody had it is expanded by the node
// before the pod has it (A-CSI-15).
func TestExpandsWhenMounted(t *testing.T) {
	claim, bound := growing(v1.PersistentVolumeClaimNodeResizePending)
	m := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	m.mustPublish(podOf("pod"), bound)
	m.wantCalls("Stage", "Publish", "Expand")
	m.wantEvents(podEvent, claimEvent)
	m.wantClaim("2Mi", "")
	assert.NoError(t, m.unpublish(podOf("pod")))
}

// TestExpandsInUse: a volume that a pod has is expanded with the next look, and again after a
// failure, which the claim tells if it is final (A-CSI-15).
func TestExpandsInUse(t *testing.T) {
	claim, bound := growing("")
	claim.Status.Conditions = nil
	m := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	pod := podOf("pod")
	m.mustPublish(pod, bound)
	m.wantCalls("Stage", "Publish")
	pods := m.volumes.republished()
	assert.True(t, len(pods) == 1, "looked at again: %q", pods)
	m.look(pod, bound)
	m.wantEvents()
	grown, _ := growing(v1.PersistentVolumeClaimNodeResizePending)
	assert.Must(t, assert.ErrorOf(m.config.Client.CoreV1().PersistentVolumeClaims("default").UpdateStatus(t.Context(), grown, metav1.UpdateOptions{})))
	m.driver.once("Expand", refuses(codes.Internal))
	m.look(pod, bound)
	const failure = "Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = out of order"
	m.wantEvents(`Pod Warning VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv" : ` + failure)
	m.wantClaim("1Mi", v1.PersistentVolumeClaimNodeResizeInProgress, "FileSystemResizePending", "NodeResizeError failed to expand pvc with "+failure)
	m.look(pod, bound)
	m.wantEvents(podEvent, claimEvent)
	m.wantClaim("2Mi", "")
	assert.NoError(t, m.unpublish(pod))
	m.wantOperations("volume_mount false", "volume_fs_resize true", "volume_fs_resize false", "volume_unmount false", "unmount_device false") // A-VOL-7
}

// TestCannotExpand: what a driver can't do is not asked again; what it can't do while the volume is
// in use, or on a read-only one, holds up nothing (A-CSI-15).
func TestCannotExpand(t *testing.T) {
	claim, bound := growing(v1.PersistentVolumeClaimNodeResizePending)
	m := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	pod := podOf("pod")
	m.driver.once("Expand", refuses(codes.OutOfRange))
	_, err := m.publish(pod, bound)
	assert.Error(t, `MountVolume.Setup failed while expanding volume for volume "pv" : Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = out of order`, err)
	m.wantClaim("1Mi", v1.PersistentVolumeClaimNodeResizeInfeasible, "FileSystemResizePending",
		"NodeResizeError failed to expand pvc with Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = out of order")
	m.mustPublish(pod, bound)
	m.wantCalls("Stage", "Publish", "Expand", "Publish")
	assert.NoError(t, m.unpublish(pod))

	claim, bound = growing(v1.PersistentVolumeClaimNodeResizePending)
	busy := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	busy.driver.once("Expand", refuses(codes.FailedPrecondition))
	busy.mustPublish(pod, bound)
	assert.NoError(t, busy.unpublish(pod))

	claim, bound = growing(v1.PersistentVolumeClaimNodeResizePending)
	fixed := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	assert.NoError(t, assert.ErrorOf(fixed.volumes.Publish(t.Context(), volumes.CSIRequest{Pod: pod, Bound: bound, ReadOnly: true, Own: func(string) error { return nil }})))
	const refused = ` Warning FileSystemResizeFailed MountVolume.NodeExpandVolume failed for volume "pv" requested read-only file system`
	fixed.wantEvents("Pod"+refused, "PersistentVolumeClaim"+refused)
	assert.NoError(t, fixed.unpublish(pod))
}

// look is what comes from time to time while a pod has a volume.
func (m *machine) look(pod *v1.Pod, bound *v1.PersistentVolume) {
	m.t.Helper()
	assert.NoError(m.t, assert.ErrorOf(m.volumes.Publish(m.t.Context(), volumes.CSIRequest{Pod: pod, Bound: bound, Again: true})))
}

// setClaim has the claim be another one.
func (m *machine) setClaim(change func(*v1.PersistentVolumeClaim)) {
	m.t.Helper()
	claims := m.config.Client.CoreV1().PersistentVolumeClaims("default")
	claim := assert.Get(claims.Get(m.t.Context(), "data", metav1.GetOptions{})).Must(m.t)
	change(claim)
	assert.Must(m.t, assert.ErrorOf(claims.Update(m.t.Context(), claim, metav1.UpdateOptions{})))
}

// TestExpandsOnEachNode: a volume of several nodes that another one has expanded is expanded here,
// too, once, also by the next agent, unless its controller has done all of it (A-CSI-15).
func TestExpandsOnEachNode(t *testing.T) {
	for name, test := range map[string]struct {
		mode  v1.PersistentVolumeAccessMode
		notes map[string]string
		calls []string
	}{
		"shared":                            {mode: v1.ReadWriteMany, calls: []string{"Stage", "Publish", "Expand"}},
		"of one node":                       {mode: v1.ReadWriteOnce, calls: []string{"Stage", "Publish"}},
		"expanded by the controller itself": {mode: v1.ReadWriteMany, notes: map[string]string{notRequired: "true"}, calls: []string{"Stage", "Publish"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim, bound := growing("")
			claim.Spec.AccessModes, claim.Annotations, claim.Status.AllocatedResources = []v1.PersistentVolumeAccessMode{test.mode}, test.notes, nil
			m := newMachine(t, newDriver(t, staging, expanding), nil, claim)
			pod := podOf("pod")
			m.mustPublish(pod, bound)
			m.begin()
			m.setClaim(func(c *v1.PersistentVolumeClaim) {
				size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Mi")}
				c.Status.Capacity, c.Status.AllocatedResources, c.Status.Conditions = size, size, nil
			})
			m.look(pod, bound)
			m.begin()
			m.look(pod, bound)
			m.wantCalls(test.calls...)
			if len(test.calls) == 3 {
				m.wantEvents(podEvent, claimEvent)
			}
			m.wantClaim("2Mi", "")
			m.end(pod)
		})
	}
}

// TestExpandsForAnOldController: one that sets no allocatedResources has only made the
// PersistentVolume larger (A-CSI-15).
func TestExpandsForAnOldController(t *testing.T) {
	claim, bound := growing("")
	claim.Status.AllocatedResources = nil
	bound.Spec.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Mi")}
	m := newMachine(t, newDriver(t, staging, expanding), nil, claim, bound)
	pod := podOf("pod")
	m.mustPublish(pod, bound)
	m.look(pod, bound)
	m.setClaim(func(c *v1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Mi")}
	})
	m.look(pod, bound)
	m.wantCalls("Stage", "Publish")
	grown := bound.DeepCopy()
	grown.Spec.Capacity[v1.ResourceStorage] = resource.MustParse("2Mi")
	assert.Must(t, assert.ErrorOf(m.config.Client.CoreV1().PersistentVolumes().Update(t.Context(), grown, metav1.UpdateOptions{})))
	m.driver.once("Expand", refuses(codes.Internal))
	m.look(pod, bound)
	m.wantEvents(`Pod Warning VolumeResizeFailed NodeExpandVolume.NodeExpandVolume failed for volume "pv" : ` +
		"Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = out of order")
	m.wantClaim("1Mi", "", "FileSystemResizePending")
	m.look(pod, bound)
	m.look(pod, bound)
	m.wantCalls("Stage", "Publish", "Expand", "Expand")
	m.wantEvents(podEvent, claimEvent)
	m.wantClaim("2Mi", "")
	m.end(pod)
}

// TestExpandsToAnotherSize: after a failure that is final, a second one means that the controller
// may take the size that is asked for meanwhile (A-CSI-15).
func TestExpandsToAnotherSize(t *testing.T) {
	claim, bound := growing(v1.PersistentVolumeClaimNodeResizePending)
	claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("2Mi")}
	m := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	pod := podOf("pod")
	const failed = "NodeResizeError failed to expand pvc with Expander.NodeExpand failed to expand the volume : rpc error: code = Internal desc = out of order"
	for _, state := range []v1.ClaimResourceStatus{v1.PersistentVolumeClaimNodeResizeInProgress, v1.PersistentVolumeClaimNodeResizeInfeasible} {
		m.driver.once("Expand", refuses(codes.Internal))
		assert.Fails(t, assert.ErrorOf(m.publish(pod, bound)), "the pod has the volume")
		m.wantClaim("1Mi", state, "FileSystemResizePending", failed)
		m.setClaim(func(c *v1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse("1500Ki")
		})
	}
	m.end(pod)
}
