package csi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/loopdevice"
)

// deviceOfFile is a loop device of a new file, until the test ends.
func deviceOfFile(t *testing.T) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	assert.Must(t, err)
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
	device, err := os.OpenFile(path, os.O_RDWR, 0)
	assert.Must(t, err)
	if err := unix.IoctlSetInt(int(device.Fd()), unix.LOOP_CLR_FD, 0); err != nil {
		t.Errorf("the kernel refuses to detach it (%v): this test shows nothing", err)
	}
	assert.Must(t, device.Close())
	if device, err = os.Open(path); err != nil {
		t.Fatal(err)
	}
	assert.NoError(t, assert.ErrorOf(unix.IoctlLoopGetStatus64(int(device.Fd()))), "it is detached")
	loops, err := loopsOf(keptDevice(m.volumes.layout, pod.UID, "pv"))
	if err != nil || len(loops) != 1 {
		t.Fatalf("it is kept by %q, %v", loops, err)
	}
	if shown, err := os.ReadFile(loops[0]); err != nil || len(shown) != 512 {
		t.Errorf("%s shows %d bytes, %v", loops[0], len(shown), err)
	}
	assert.NoError(t, errors.Join(device.Close(), m.unpublish(pod)))
	m.wantNothing()
}
