package agent

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// claimOfDriver is a claim that is bound to a volume of a driver.
const claimOfDriver = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: NAMESPACE-data}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  volumeMode: MODE
  capacity: {storage: 64Mi}
  claimRef: {namespace: NAMESPACE, name: data}
  persistentVolumeReclaimPolicy: Retain
  csi: {driver: DRIVER, volumeHandle: HANDLE, FSTYPE}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  volumeMode: MODE
  resources: {requests: {storage: 64Mi}}
  volumeName: NAMESPACE-data
`

// claim makes the claim data, bound to a new volume of the driver.
func (d *storageDriver) claim(c *cluster, mode v1.PersistentVolumeMode) {
	d.t.Helper()
	fsType := "fsType: ext4"
	if mode == v1.PersistentVolumeBlock {
		fsType = ""
	}
	handle := d.volume(c.namespace, mode == v1.PersistentVolumeBlock)
	c.apply(strings.NewReplacer("NAMESPACE", c.namespace, "MODE", string(mode), "DRIVER", d.name, "HANDLE", handle, "FSTYPE", fsType).Replace(claimOfDriver))
	d.t.Cleanup(func() { c.outsideTest("delete", "persistentvolume", c.namespace+"-data", "--wait=false") })
	await(c, "persistentvolumeclaims", "data", "to be bound", func(claim *v1.PersistentVolumeClaim) bool { return claim.Status.Phase == v1.ClaimBound })
}

const writerToVolume = `
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {fsGroup: 1234}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers:
  - {name: main, image: TOOLBOX,
     command: [sh, -c, "stat -c 'group %g' /data; echo run >>/data/runs; echo runs $(grep -c run /data/runs); until [ -e /tmp/end ]; do sleep 0.1; done; sleep 1"],
     volumeMounts: [{name: data, mountPath: /data}], resources: {limits: {memory: 32Mi}}}
`

// TestStorageDriver: a pod waits for the driver of its volume and has it when the driver comes. The
// volume outlives a restart in place, a kill -9 of the agent, and the pod; drivers are only called
// for what is not there; nothing is left (A-CSI-4, A-CSI-6, A-CSI-7, A-CSI-10, A-CSI-12).
func TestStorageDriver(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	d := newStorageDriver(t, node, "storage.example.com", "{attachRequired: false, fsGroupPolicy: File}")
	c := newCluster(t, node)
	d.claim(c, v1.PersistentVolumeFilesystem)
	d.stop()
	d.eventually("CSINode without the driver", func(ctx context.Context) (bool, error) {
		node, err := client.StorageV1().CSINodes().Get(ctx, node.Name, metav1.GetOptions{})
		return err == nil && len(node.Spec.Drivers) == 0, nil
	})
	c.create(strings.ReplaceAll(writerToVolume, "NAME", "one"))
	event := c.awaitEvent("one", v1.EventTypeWarning, "FailedMount")
	want := "driver name storage.example.com not found in the list of registered CSI drivers"
	assert.True(t, strings.HasSuffix(event.Message, want), "the event says %q, want %q", event.Message, want)
	d.run()
	c.awaitReady("one")
	c.awaitLine("one", "group 1234")
	c.awaitLine("one", "runs 1")
	d.wantCalls("NodeStageVolume", "NodePublishVolume")
	if object, err := client.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{}); err != nil || len(object.Status.VolumesInUse) > 0 {
		t.Errorf("volumes in use: %v, %v, want none: nobody attaches them (A-CSI-5)", object.Status.VolumesInUse, err)
	}

	c.kubectl("exec", "one", "--", "touch", "/tmp/end")
	c.await("one", "to have restarted", func(pod *v1.Pod) bool { return statusOf(pod, "main").RestartCount == 1 && machine.IsReady(pod) })
	c.awaitLine("one", "runs 2")
	restart(t, node)
	c.create(strings.ReplaceAll(writerToVolume, "NAME", "two"))
	c.awaitReady("two")
	c.awaitLine("two", "runs 3")
	d.wantCalls("NodePublishVolume") // for the second pod
	c.delete("one")
	d.wantCalls("NodeUnpublishVolume")
	c.delete("two")
	d.wantCalls("NodeUnpublishVolume", "NodeUnstageVolume")
	d.wantNothing()
}

// wantNothing: no volume of the driver is mounted, in use, or recorded.
func (d *storageDriver) wantNothing() {
	d.t.Helper()
	mounts := assert.Get(mountinfo.GetMounts(mountinfo.PrefixFilter(d.node.Root.Dir))).Must(d.t)
	for _, m := range mounts {
		assert.True(d.t, !strings.Contains(m.Mountpoint, "csi"), "%s is still mounted", m.Mountpoint)
	}
	for _, pattern := range []string{"plugins/kubernetes.io/csi/" + d.name + "/*", "plugins/kubernetes.io/csi/volumeDevices/*/*"} {
		left, _ := filepath.Glob(filepath.Join(d.node.Root.Dir, pattern)) // the pattern is valid
		assert.True(d.t, len(left) == 0, "left: %q", left)
	}
	assert.NoError(d.t, d.node.AwaitNode(d.t.Context(), "no volume in use", func(n *v1.Node) bool { return len(n.Status.VolumesInUse) == 0 }))
}

// TestStorageDevice: a container gets a volume as a device, and keeps it over a kill -9 of the agent;
// the node expands it (A-CSI-8, A-CSI-15).
func TestStorageDevice(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	d := newStorageDriver(t, node, "devices.example.com", "{attachRequired: false}")
	c := newCluster(t, node)
	d.claim(c, v1.PersistentVolumeBlock)
	const manifest = `
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "until [ -e /tmp/end ]; do sleep 0.1; done; sleep 1"],
     volumeDevices: [{name: data, devicePath: /dev/data}], resources: {limits: {memory: 32Mi}}}
`
	c.create(manifest)
	c.awaitReady("pod")
	d.wantCalls("NodeStageVolume", "NodePublishVolume")
	c.kubectl("exec", "pod", "--", "sh", "-c", "echo hello >/dev/data")
	restart(t, node)
	c.kubectl("exec", "pod", "--", "touch", "/tmp/end")
	c.await("pod", "to have restarted", func(pod *v1.Pod) bool { return statusOf(pod, "main").RestartCount == 1 && machine.IsReady(pod) })
	assert.Deep(t, "the device begins with", "hello\n", c.kubectl("exec", "pod", "--", "head", "-n", "1", "/dev/data"))
	d.wantCalls()
	c.delete("pod")
	d.wantCalls("NodeUnpublishVolume", "NodeUnstageVolume")
	d.wantNothing()

	d.expand(c) // A-CSI-15
	c.create(manifest)
	c.awaitReady("pod")
	await(c, "persistentvolumeclaims", "data", "to be expanded", func(claim *v1.PersistentVolumeClaim) bool {
		pending := func(c v1.PersistentVolumeClaimCondition) bool { return c.Type != v1.PersistentVolumeClaimUnused } // of expansion
		return claim.Status.Capacity.Storage().String() == "128Mi" && !slices.ContainsFunc(claim.Status.Conditions, pending) && len(claim.Status.AllocatedResourceStatuses) == 0
	})
	c.awaitEvent("pod", v1.EventTypeNormal, "FileSystemResizeSuccessful")
	c.delete("pod")
	d.wantCalls("NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume")
	d.wantNothing()
}

// TestAttachedVolume: a pod waits until its volume is attached, which the cluster's controller asks
// for and an attacher, here the test, does (A-CSI-5).
func TestAttachedVolume(t *testing.T) {
	t.Parallel()
	node := newNode(t, member.Config{})
	d := newStorageDriver(t, node, "attached.example.com", "{attachRequired: true}")
	c := newCluster(t, node)
	d.claim(c, v1.PersistentVolumeFilesystem)
	c.create(strings.ReplaceAll(writerToVolume, "NAME", "pod"))
	attachment := &storagev1.VolumeAttachment{}
	d.eventually("VolumeAttachment", func(ctx context.Context) (bool, error) {
		all, err := client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // it is asked again
		}
		for _, one := range all.Items {
			if one.Spec.Attacher == d.name {
				attachment = &one
				return true, nil
			}
		}
		return false, nil
	})
	d.wantCalls()
	attachment.Status.Attached = true
	assert.Must(t, assert.ErrorOf(client.StorageV1().VolumeAttachments().UpdateStatus(t.Context(), attachment, metav1.UpdateOptions{})))
	c.awaitReady("pod")
	d.wantCalls("NodeStageVolume", "NodePublishVolume")
	c.delete("pod")
	d.eventually("VolumeAttachment to be deleted", func(ctx context.Context) (bool, error) {
		_, err := client.StorageV1().VolumeAttachments().Get(ctx, attachment.Name, metav1.GetOptions{})
		return err != nil, nil
	})
	d.wantNothing()
}
