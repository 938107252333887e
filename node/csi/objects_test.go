package csi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/loopdevice"
)

func newCSIDriver(name string, periodSeconds *int64) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{NodeAllocatableUpdatePeriodSeconds: periodSeconds}}
}

// TestObject: nothing is asked of the API server before somebody wants to know.
func TestObject(t *testing.T) {
	m := csidriverNewMachine(t, newCSIDriver("d", nil))
	for _, action := range m.client.Actions() {
		t.Errorf("asked before: %v", action)
	}
	got, err := m.Object(t.Context(), "d")
	assert.True(t, err == nil && got != nil && got.Name == "d", "A-CSI-1 CSIDriver %v, %v", got, err)
	got, err = m.Object(t.Context(), "other")
	assert.True(t, err == nil && got == nil, "A-CSI-1 CSIDriver %v, %v, want none", got, err)
}

// TestObjectUnreached: a lookup ends although the API server never answers.
func TestObjectUnreached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(RegistryConfig{Client: fake.NewClientset()}) // nobody runs it
		defer r.Node.queue.ShutDown()
		assert.Error(t, "look up CSIDriver d: the API server was not reached yet", assert.ErrorOf(r.Object(t.Context(), "d")))
		ended, end := context.WithCancel(t.Context())
		end()
		assert.Error(t, "look up CSIDriver d: context canceled", assert.ErrorOf(r.Object(ended, "d")))
	})
}

// TestRecount: the CSINode follows how many volumes a driver says that the node may have, if its
// CSIDriver asks for it, as long as the driver is there (A-CSI-2).
func TestRecount(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil), newCSIDriver("d", nil))
	served := serve(t, DriverOnNode{NodeID: "n-1", MaxVolumes: 5})
	m.register("d", served)
	count := func(want int32) func() bool {
		return func() bool { return *m.csiDrivers()[0].Allocatable.Count == want }
	}
	served.set(func() { served.about.MaxVolumes = 6 })
	assert.NoError(t, m.Recount(t.Context(), "d"), "A-CSI-2 recount")
	m.await("the count of Recount", count(6))
	assert.Error(t, "driver name other not found in the list of registered CSI drivers", m.Recount(t.Context(), "other"), "recount of another")
	served.set(func() { served.about.MaxVolumes = 7 })
	assert.Must(t, assert.ErrorOf(m.client.StorageV1().CSIDrivers().Update(t.Context(), newCSIDriver("d", new(int64(1))), metav1.UpdateOptions{})))
	m.await("the count by period", count(7))
	m.Deregister("d", served.endpoint)
	m.await("the end of the periods", func() bool { return len(m.periods()) == 0 })
}

// deviceOfFile is a loop device of a new file, until the test ends.
func deviceOfFile(t *testing.T) string {
	t.Helper()
	file := assert.Get(os.Create(filepath.Join(t.TempDir(), "file"))).Must(t)
	defer file.Close()
	assert.Must(t, file.Truncate(1<<20))
	device, hold, err := loopdevice.Attach(file, unix.LoopInfo64{})
	assert.Must(t, err)
	t.Cleanup(func() {
		assert.NoError(t, loopdevice.Detach(device))
	})
	assert.Must(t, hold.Close())
	return device
}

// TestDeviceIsKept: until a pod gives a device back something keeps it open, also if a kubelet has given it to the pod,
// and that of another pod is kept longer (A-CSI-8, A-CSI-12).
func TestDeviceIsKept(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	one, two, bound := podOf("one"), podOf("two"), persistent("pv")
	bound.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	for _, pod := range []*v1.Pod{one, two} {
		m.mustPublish(pod, bound)
	}
	for i, pod := range []*v1.Pod{one, two} {
		assert.Must(t, m.unpublish(pod))
		for j, of := range []*v1.Pod{one, two} {
			loops, err := loopsOf(keptDevice(m.volumes.layout, of.UID, "pv"))
			if err != nil || (len(loops) == 1) != (j > i) {
				t.Errorf("after %s has given it back: loop devices of %s: %q, %v", pod.Name, of.Name, loops, err)
			}
		}
	}
	m.wantNothing()
}

// TestDeviceCannotBeDetached: who has a loop device, as a container has, may ask the kernel to detach it. It stays: else
// its number would be free for the next volume of anybody (A-CSI-8). What keeps it is there after a kill, too, and
// shows nothing of what is on the device.
func TestDeviceCannotBeDetached(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	pod, bound := podOf("attacker"), persistent("pv")
	bound.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	path := m.mustPublish(pod, bound)
	m.look(pod, bound)
	device := assert.Get(os.OpenFile(path, os.O_RDWR, 0)).Must(t)
	err := unix.IoctlSetInt(int(device.Fd()), unix.LOOP_CLR_FD, 0)
	assert.True(t, err == nil, "the kernel refuses to detach it (%v): this test shows nothing", err)
	assert.Must(t, device.Close())
	device = assert.Get(os.Open(path)).Must(t)
	assert.NoError(t, assert.ErrorOf(unix.IoctlLoopGetStatus64(int(device.Fd()))), "it is detached")
	loops, err := loopsOf(keptDevice(m.volumes.layout, pod.UID, "pv"))
	assert.Require(t, err == nil && len(loops) == 1, "it is kept by %q, %v", loops, err)
	if shown, err := os.ReadFile(loops[0]); err != nil || len(shown) != 512 {
		t.Errorf("%s shows %d bytes, %v", loops[0], len(shown), err)
	}
	assert.NoError(t, errors.Join(device.Close(), m.unpublish(pod)))
	m.wantNothing()
}
