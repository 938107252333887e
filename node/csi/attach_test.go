package csi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

// newAttaching is a machine whose driver wants its volumes attached, and the name of pv's.
func newAttaching(t *testing.T, d *driver) (*machine, v1.UniqueVolumeName) {
	t.Helper()
	return newMachine(t, d, driverObject(storagev1.CSIDriverSpec{AttachRequired: new(true)})), key{driverName, "handle-pv"}.uniqueName()
}

// attachment makes the VolumeAttachment of pv, or changes it.
func (m *machine) attachment(status storagev1.VolumeAttachmentStatus) {
	m.t.Helper()
	attachments := m.config.Client.StorageV1().VolumeAttachments()
	one := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: attachmentName(key{driverName, "handle-pv"}, "n")}, Status: status}
	if _, err := attachments.Create(m.t.Context(), one, metav1.CreateOptions{}); err == nil {
		return
	}
	assert.Must(m.t, assert.ErrorOf(attachments.UpdateStatus(m.t.Context(), one, metav1.UpdateOptions{})))
}

// writeNode is what writes the Node's status; attached is what the controller has there.
func (m *machine) writeNode(attached ...v1.UniqueVolumeName) {
	node := &v1.Node{Status: v1.NodeStatus{VolumesInUse: m.volumes.InUse()}}
	for _, name := range attached {
		node.Status.VolumesAttached = append(node.Status.VolumesAttached, v1.AttachedVolume{Name: name})
	}
	m.volumes.NodeChanged(node)
}

func (m *machine) publishSoon(pod *v1.Pod) <-chan error {
	published := make(chan error, 1)
	go func() {
		_, err := m.volumes.Publish(m.t.Context(), volumes.CSIRequest{Pod: pod, Bound: persistent("pv"), Own: func(string) error { return nil }})
		published <- err
	}()
	return published
}

func (m *machine) awaitInUse() {
	m.t.Helper()
	for range 500 {
		if len(m.volumes.InUse()) == 1 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.t.Fatal("the volume is not in use")
}

func wantWaiting(t *testing.T, published <-chan error) {
	t.Helper()
	select {
	case err := <-published:
		t.Fatalf("the pod has the volume too early: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestAttached: a volume is in use before it is attached, and the driver is called when the Node
// says both, with what the attacher has said (A-CSI-5).
func TestAttached(t *testing.T) {
	d := newDriver(t)
	m, name := newAttaching(t, d)
	pod := podOf("pod")
	m.attachment(storagev1.VolumeAttachmentStatus{})
	published := m.publishSoon(pod)
	m.awaitInUse()
	m.writeNode()
	wantWaiting(t, published)
	m.attachment(storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"lun": "3"}})
	wantWaiting(t, published)
	m.writeNode(name)
	assert.Must(t, <-published)
	assert.Equal(t, "3", d.lastPublish().PublishContext["lun"], "the driver is told the LUN")
	m.end(pod)
	m.wantOperations("verify_controller_attached_volume false", "volume_mount false", "volume_unmount false", "unmount_device false") // A-VOL-7
}

// TestDetachedMeanwhile: a Node that was written before a volume was in use anew does not say that
// it stays attached: its controller may be about to detach it (A-CSI-5).
func TestDetachedMeanwhile(t *testing.T) {
	m, name := newAttaching(t, newDriver(t))
	m.attachment(storagev1.VolumeAttachmentStatus{Attached: true})
	one, two := podOf("one"), podOf("two")
	published := m.publishSoon(one)
	m.awaitInUse()
	m.writeNode(name)
	assert.Must(t, <-published)
	assert.Must(t, m.unpublish(one))
	published = m.publishSoon(two) // the Node was not written since, and has both
	wantWaiting(t, published)
	m.awaitInUse() // it is written with the next look, and there is no difference
	assert.Must(t, <-published)
	m.end(two)
}

// TestAttachedNoMore: a volume is detached when its CSIDriver says that it need not be attached:
// it is not listed as in use, although a pod has it (A-CSI-5).
func TestAttachedNoMore(t *testing.T) {
	m, name := newAttaching(t, newDriver(t))
	pod := podOf("pod")
	m.attachment(storagev1.VolumeAttachmentStatus{Attached: true})
	published := m.publishSoon(pod)
	m.awaitInUse()
	m.writeNode(name)
	assert.Must(t, <-published)
	names := m.volumes.InUse()
	assert.True(t, len(names) == 1, "in use: %q", names)
	assert.Must(t, assert.ErrorOf(m.config.Client.StorageV1().CSIDrivers().Update(t.Context(), driverObject(storagev1.CSIDriverSpec{AttachRequired: new(false)}), metav1.UpdateOptions{})))
	for range 500 {
		if len(m.volumes.InUse()) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("still in use: %q", m.volumes.InUse())
}

// TestAttachedByNobody: a pod that waits for its volume to be attached waits no more when the CSIDriver
// says that it need not be (A-CSI-5).
func TestAttachedByNobody(t *testing.T) {
	m, _ := newAttaching(t, newDriver(t))
	pod := podOf("pod")
	m.attachment(storagev1.VolumeAttachmentStatus{})
	published := m.publishSoon(pod)
	m.awaitInUse()
	m.writeNode()
	wantWaiting(t, published)
	assert.Must(t, assert.ErrorOf(m.config.Client.StorageV1().CSIDrivers().Update(t.Context(), driverObject(storagev1.CSIDriverSpec{AttachRequired: new(false)}), metav1.UpdateOptions{})))
	select {
	case err := <-published:
		assert.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("A-CSI-5: the pod still waits")
	}
	m.end(pod)
}

// TestNotAttached: what the attacher says is told; a pod that waits holds up no other one of the
// volume, and the volume is in use until the pod is gone (A-CSI-4, A-CSI-5).
func TestNotAttached(t *testing.T) {
	m, name := newAttaching(t, newDriver(t))
	one, two := podOf("one"), podOf("two")
	m.attachment(storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "no such disk"}})
	err := <-m.publishSoon(one)
	assert.Error(t, `MountVolume.WaitForAttach failed for volume "pv" : no such disk`, err)
	m.awaitInUse()
	m.attachment(storagev1.VolumeAttachmentStatus{Attached: true})
	m.writeNode(name)
	m.mustPublish(one, persistent("pv"))

	m.attachment(storagev1.VolumeAttachmentStatus{}) // somebody has detached it
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() {
		_, err := m.volumes.Publish(ctx, volumes.CSIRequest{Pod: two, Bound: persistent("pv")})
		waits <- err
	}()
	wantWaiting(t, waits)
	assert.NoError(t, m.unpublish(one), "a pod that waits holds up another one")
	names := m.volumes.InUse()
	assert.True(t, len(names) == 1, "in use: %q", names)
	cancel()
	assert.Error(t, `MountVolume.WaitForAttach failed for volume "pv" : context canceled`, <-waits)
	m.end(two)
}

// TestTooManyAttached: a pod whose volume can't be attached for want of room on the node has to go
// elsewhere, and the driver is asked how many volumes the node can have, if its CSIDriver wants that
// (A-CSI-2, A-SYNC-8).
func TestTooManyAttached(t *testing.T) {
	d := newDriver(t)
	m, _ := newAttaching(t, d)
	code := int32(codes.ResourceExhausted)
	m.attachment(storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{Message: "too many disks", ErrorCode: &code}})
	waits := attaching{on: m.volumes, volume: key{driverName, "handle-pv"}, pod: podVolume{"uid-pod", "pv"}, patience: 50 * time.Millisecond}
	asked := d.infos.Load()
	_, err := waits.await(t.Context())
	assert.Error(t, "too many disks", err)
	got := d.infos.Load()
	assert.True(t, got == asked, "the driver was asked %d times", got-asked)
	waits.counts = true
	_, err = waits.await(t.Context())
	_, exceeds := errors.AsType[*volumes.LimitError](err)
	assert.True(t, exceeds, "error %v, want that the node has too many volumes", err)
	got = d.infos.Load()
	assert.True(t, got == asked+1, "the driver was asked %d times, want once", got-asked)
	if object := driverObject(storagev1.CSIDriverSpec{NodeAllocatableUpdatePeriodSeconds: new(int64(10))}); !counts(object) || counts(driverObject(storagev1.CSIDriverSpec{})) || counts(nil) {
		t.Error("it is asked by nodeAllocatableUpdatePeriodSeconds")
	}
}

// TestForbidden: what the API server refuses is a failed registration (A-CSI-2).
func TestForbidden(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	m.fail("patch", "", func() error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", errors.New("no"))
	})
	err := m.Register(t.Context(), "forbidden", serve(t, DriverOnNode{NodeID: "n-1"}).endpoint, []string{"1.0.0"})
	assert.True(t, apierrors.IsForbidden(err) && strings.HasPrefix(err.Error(), "error updating Node object with CSI driver node info: "),
		"A-CSI-2 refused: %v", err)
}

// TestUnanswered: while the API server does not answer, a driver is used nevertheless, and told of
// afterwards; so is the end of one (A-CSI-2).
func TestUnanswered(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	m.patience = 10 * time.Millisecond
	away := func() error { return errors.New("connection refused") }
	m.fail("get", "", away)
	served := serve(t, DriverOnNode{NodeID: "n-1"})
	m.register("d", served)
	assert.NoError(t, assert.ErrorOf(m.Driver("d")), "A-CSI-2 the driver is not used")
	m.fails.Store(nil)
	m.await("its node ID", func() bool { return m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"] == `{"d":"n-1"}` })
	m.fail("get", "", away)
	m.Deregister("d", served.endpoint)
	m.await("a failure", func() bool {
		return strings.Contains(m.log.text(), "error uninstalling CSI driver from CSINode object connection refused")
	})
	m.fails.Store(nil)
	m.await("its end", func() bool {
		return m.nodeObject().Annotations["csi.volume.kubernetes.io/nodeid"] == "" && len(m.csiDrivers()) == 0
	})
}
